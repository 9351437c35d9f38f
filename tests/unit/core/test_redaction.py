"""What of a submitted value and its evidence is shown: never the whole, never a long run."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from core.redaction import UNKNOWN_HOST, evidence_host, redact_value
from tests.each import each

LONG_RUN = re.compile(r"[0-9a-fA-F]{20}")
ADDRESS = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
# anything at all, halves of surrogate pairs included
HOSTILE = st.text(st.characters(codec=None, categories=None))
HEX = st.text("0123456789abcdefABCDEF._-", min_size=1, max_size=80)


@each(
    ("value", "shown"),
    [
        (ADDRESS, "0xd8\u20266045"),
        ("1234567890" * 3, "1234\u20267890"),
        ("https://example.com", "http\u2026.com"),
        ("avalanche", "aval\u2026nche"),
        ("ethereum", None),
        ("1", None),
        ("", None),
        ("ab\u202ecd\x00efgh\n", "ab\ufffdc\u2026fgh\ufffd"),
        ("\ud800" * 9, "\ufffd" * 4 + "\u2026" + "\ufffd" * 4),
    ],
)
def test_a_value__is_its_first_four_and_last_four_characters_or_nothing(
    value: str, shown: str | None
) -> None:
    assert redact_value(value) == shown


@given(HOSTILE | HEX)
@example("0" * 9)
def test_a_shown_value__is_printable_short_and_never_the_whole(value: str) -> None:
    shown = redact_value(value)
    assert (shown is None) == (len(value) < 9)
    if shown is not None:
        assert len(shown) == 9
        assert shown.isprintable()
        assert shown != value or value[4] == "\u2026"


@given(HOSTILE, HOSTILE)
def test_values_with_the_same_ends__are_shown_alike(middle: str, other: str) -> None:
    """What is between the ends leaves no trace, not even its length."""
    shown = {redact_value(f"0xd8{one}.6045") for one in (middle, other)}
    assert len(shown) == 1


@each(
    ("url", "host"),
    [
        (f"https://etherscan.io/token/{ADDRESS}#readProxy", "etherscan.io"),
        ("https://ETHERSCAN.io:8443/?q=1", "etherscan.io"),
        ("https://etherscan.io./x", "etherscan.io"),
        ("https://user:secret@example.com/x", "example.com"),
        ("https://203.0.113.7/x", "203.0.113.7"),
        (f"https://{ADDRESS}.example.com/", "0x\u2026.example.com"),
        (f"https://{ADDRESS}/", "0x\u2026"),
        ("https://550e8400-e29b-41d4-a716-446655440000.example.com/", "\u2026.example.com"),
        ("https://d111111abcdef8.cloudfront.net/", "d111111abcdef8.cloudfront.net"),
        (f"https://{ADDRESS[2:21]}.{ADDRESS[21:]}.example.com/", "\u2026.example.com"),
        ("https://" + "12345678901234567890" + ".example.com", "\u2026.example.com"),
        ("https://" + "1234567890123456789" + ".xyz", "1234567890123456789.xyz"),
        ("https://" + "12345678901234567890" + ".xyz", "\u2026.xyz"),
        ("https://[2001:db8::1]/x", UNKNOWN_HOST),
        ("https://[not-an-address/x", UNKNOWN_HOST),
        ("https://a\u202eb.com/x", UNKNOWN_HOST),
        ("https://<script>.com/x", UNKNOWN_HOST),
        ("https:///x", UNKNOWN_HOST),
        ("etherscan.io/token", UNKNOWN_HOST),
        ("", UNKNOWN_HOST),
    ],
)
def test_evidence__is_reduced_to_its_host(url: str, host: str) -> None:
    assert evidence_host(url) == host


@given(
    HOSTILE
    | HOSTILE.map(lambda rest: f"https://{rest}")
    | HEX.map(lambda labels: f"https://{labels}.example.com/{labels}")
)
def test_a_shown_host__is_short_plain_and_has_no_long_run(url: str) -> None:
    host = evidence_host(url)
    assert re.fullmatch(r"[a-z0-9._\u2026-]{1,253}", host)
    assert LONG_RUN.search(host) is None


@given(HOSTILE.filter(lambda path: not set(path) & set("\\@/?#[]:")))
def test_a_path_and_its_query__leave_no_trace(path: str) -> None:
    """Whatever stands behind the host."""
    assert evidence_host(f"https://example.com/{path}?{path}#{path}") == "example.com"
