"""What may be claimed of a token (docs/claims.md)."""

import pytest

from api.areas.claims.rules.claims import (
    ClaimKind,
    backer_named,
    claim_source,
    claimed_ticker,
    same_words,
)
from core.errors import InvalidParameterError
from tests.each import each


@each(
    ("sent", "kept"),
    [
        ("link", "LINK"),
        ("NO", "NO"),
        ("1inch", "1INCH"),
        ("\u017ftra\xdf", "\u017fTRA\xdf"),
        ("柴犬", "柴犬"),
        ("cafe\u0301", "CAF\xc9"),  # composed, as its note is found
        ("e\u0301", "\u00c9"),
    ],
)
def test_a_ticker__is_kept_in_capital_letters(sent: str, kept: str) -> None:
    assert claimed_ticker("base", sent) == kept


def test_a_ticker_of_32_characters__is_taken() -> None:
    assert claimed_ticker("base", "A" * 32) == "A" * 32


@each(
    "sent",
    [
        "",
        "A" * 33,
        "../A",
        "A/B",
        "A B",
        "A\x00",
        "<b>",
        "[[A]]",
        "A\u202e",
        "%2e%2e",
        "A:",
        "B\u200dTC",
        "BTC\ufe0f",
        "BTC\u3164",
    ],
)
def test_what_is_no_ticker__is_refused(sent: str) -> None:
    with pytest.raises(InvalidParameterError, match="base: "):
        claimed_ticker("base", sent)


@each(
    ("kind", "claim", "named"),
    [
        ("backer", "Example Capital", "Example Capital"),
        ("backer", "x" * 64, "x" * 64),
        ("backer", "x" * 65, None),
        ("project", "Example Capital", None),
    ],
)
def test_a_backer__is_named_by_a_short_claim_of_that_kind(
    kind: str, claim: str, named: str | None
) -> None:
    assert backer_named(ClaimKind(kind), claim) == named


@each(
    "url",
    ["", "javascript:alert(1)", "http://a.example/", "https://u:p@a.example/", "data:text/html,x"],
)
def test_a_source_that_is_no_https_link__is_refused(url: str) -> None:
    with pytest.raises(InvalidParameterError, match="source_url: "):
        claim_source(url)


def test_claims_that_differ_in_case_and_spaces_alone__say_the_same() -> None:
    assert same_words("Listed  on  Upbit ") == same_words("listed on UPBIT")


@each(
    "claim",
    [
        "Li\u200dsted on Upbit",
        "\uff2cisted on Upbit",
        "Listed on Upbit\ufe0f",
        "Listed\u00a0on Upbit",
    ],
)
def test_claims_that_look_alike__say_the_same(claim: str) -> None:
    assert same_words(claim) == same_words("listed on upbit")


def test_what_is_compared__has_one_length() -> None:
    """U+FDFA alone becomes 18 letters, and an index holds no row of 2,704 bytes."""
    assert {len(same_words(one)) for one in ("a", "\ufdfa" * 500)} == {64}
    assert same_words("a b") != same_words("ab")
