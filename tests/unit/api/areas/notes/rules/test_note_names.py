"""Tickers, and the files and links that lead to their notes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.claims.rules.tickers import ticker_of
from api.areas.notes.rules.names import OWN_WORDS, HubKind, file_meant, hub_file, token_file
from core.errors import InvalidParameterError
from tests.each import each

PORTABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*(?:-{1,2}[a-z0-9]+)?")
DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]")


@each(
    ("sent", "meant"),
    [
        ("btc", "BTC"), ("BTC", "BTC"), ("1inch", "1INCH"), ("비트", "비트"), ("\u0442", "\u0422"),
        ("straße", "STRAßE"), ("\u0131", "\u0131"), ("\u017f", "\u017f"), ("e\u0301", "\u00c9"),
        ("brk.b", "BRK.B"), ("a b", "A B"), ("A" * 32, "A" * 32),
    ],
)  # fmt: skip
def test_ticker__is_in_upper_case_where_that_is_the_same_letter(sent: str, meant: str) -> None:
    assert ticker_of(sent) == meant


@each(
    "sent",
    [
        "",
        "A" * 33,
        "..",
        ".",
        "../x",
        "a/b",
        "a\\b",
        "a\0b",
        " a",
        "a ",
        ".a",
        "\u202ea",
        "\n",
        "B\u200dTC",
        "BTC\ufe0f",
        "B\u034fTC",
        "BTC\u3164",
        "BTC\u2800",
        "BTC\u00a0",
        "B\u3000C",
        "\ufb2c" * 32,
        "a\ufffd",
    ],
)
def test_what_is_no_ticker__is_refused(sent: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        ticker_of(sent)
    assert refused.value.field == "token"


@each(
    ("ticker", "file"),
    [
        ("BTC", "BTC"), ("1INCH", "1INCH"), ("CON", "CON--a3dbc4b6"), ("COM1", "COM1--6eac394b"),
        ("COM10", "COM10"), ("비트코인", "token--f386c9a9"), ("btc", "btc--9f86d081"),
    ],
)  # fmt: skip
def test_a_file__is_the_ticker_where_every_system_can_hold_it(ticker: str, file: str) -> None:
    written = token_file(ticker)
    assert written.split("--")[0] == file.split("--")[0]
    assert ("--" in written) is ("--" in file)


@given(st.text(min_size=1, max_size=32))
def test_a_file__can_be_held_by_every_system(ticker: str) -> None:
    written = token_file(ticker)
    assert PORTABLE.fullmatch(written)
    assert not DEVICE.fullmatch(written.lower())
    assert len(written) <= 60


@given(st.sets(st.text(alphabet="AaBb1._-/ é", min_size=1, max_size=6), max_size=40))
def test_files__of_two_tickers_differ_where_case_does_not_count(tickers: set[str]) -> None:
    assert len({token_file(one).lower() for one in tickers}) == len(tickers)


@each(
    ("kind", "name", "file"),
    [
        (HubKind.CHAIN, "eip155:1", "chain/eip155-1"),
        (HubKind.CLASS, "tokenised_equity", "class/tokenised_equity"),
        (HubKind.EVENT, "withdraw_closed", "event/withdraw_closed"),
        (HubKind.FLAG, "collision", "flag/collision"),
    ],
)
def test_a_hubs_file__says_what_it_is_of(kind: HubKind, name: str, file: str) -> None:
    assert hub_file(kind, name) == file


def test_a_hubs_file__of_names_that_look_alike__differs() -> None:
    names = [
        "eip155:1",
        "eip155-1",
        "EIP155:1",
        "eip155_1",
        "unknown:eip155:1",
        "nul",
        "NUL",
        "con:1",
    ]
    assert len({hub_file(HubKind.CHAIN, one) for one in names}) == len(names)


@given(st.text(min_size=1, max_size=200), st.sampled_from(HubKind))
def test_a_hubs_file__can_be_held_by_every_system(name: str, kind: HubKind) -> None:
    folder, _, file = hub_file(kind, name).partition("/")
    assert folder == kind
    assert PORTABLE.fullmatch(file)
    assert file == file.lower()
    assert not DEVICE.fullmatch(file)


@given(
    st.sets(st.text(alphabet="aA1_ ", min_size=1, max_size=3), max_size=12),
    st.sets(st.sampled_from([*OWN_WORDS, "CRYPTO", "sui", "SUI", "withdraw_closed"])),
)
def test_a_token_and_a_hub__never_have_one_name__in_no_folder(
    made: set[str], known: set[str]
) -> None:
    """Note apps find a note by its name, without its folder and in any case."""
    names = made | known
    paths = {token_file(one) for one in names}
    paths |= {hub_file(kind, one) for kind in (HubKind.BACKER, HubKind.CHAIN) for one in names}
    paths |= {hub_file(HubKind.CLASS, one) for one in names & {*OWN_WORDS, "withdraw_closed"}}
    files = [one.rpartition("/")[2].lower() for one in paths]
    assert len(set(files)) == len(files)


@each(
    ("sent", "file"),
    [
        ("btc", "BTC"), ("BTC", "BTC"), ("con", "CON--a3dbc4b6"), ("CON--a3dbc4b6", "CON--a3dbc4b6"),
        ("chain/eip155-1", "chain/eip155-1"), ("e\u0301", token_file("\u00c9")),
    ],
)  # fmt: skip
def test_a_file_is_meant__by_its_path_or_by_a_ticker(sent: str, file: str) -> None:
    assert file_meant(sent) == file
