"""Names of chains, and what the titles of notices declare."""

from core.market.facts import NoticeKind, NoticeScope
from indexer.venues.chains import CHAINS, chain_of, is_own_coin
from indexer.venues.quirks.titles import bases_in, kind_of, scope_of
from tests.each import each


@each("written", ["ETH", "ERC20", "eth", "Ethereum(ERC20)", "Ethereum"])
def test_one_chain_in_many_ways__is_one_chain(written: str) -> None:
    assert chain_of(written) == "eip155:1"


@each(
    ("written", "chain"),
    [
        ("BEP20(BSC)", "eip155:56"),
        ("ARBEVM", "eip155:42161"),
        ("ARBI", "eip155:42161"),
        ("Arbitrum One", "eip155:42161"),
        ("Avalanche C-Chain", "eip155:43114"),
        ("Solana(SOL)", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
        ("TRC20", "tron:0x2b6653dc"),
    ],
)
def test_a_chain__has_its_caip_2_name(written: str, chain: str) -> None:
    assert chain_of(written) == chain


@each("written", ["AVAX", "Newchain", "", "eip155:1"])
def test_a_chain_that_is_not_known_for_certain__joins_nothing(written: str) -> None:
    assert chain_of(written) == f"unknown:{written}"


def test_every_chain__is_named_once() -> None:
    assert len(set(CHAINS)) == len(CHAINS) > 50


@each(
    ("chain", "ticker", "own"),
    [
        ("eip155:1", "ETH", True),
        ("eip155:8453", "ETH", True),
        ("eip155:1", "BNB", False),
        ("unknown:eth", "ETH", False),
    ],
)
def test_the_coin_of_a_chain(chain: str, ticker: str, own: bool) -> None:
    assert is_own_coin(chain, ticker) is own


@each(
    ("title", "kind"),
    [
        ("Delisting of AAAQ/USDT", NoticeKind.DELIST),
        ("Binance Will Delist AAAQ, BBBQ on 2026-12-01", NoticeKind.DELIST),
        ("에이(AAAQ) 거래지원 종료 안내", NoticeKind.DELIST),
        ("Notice of Removal of Spot Trading Pairs - 2026-12-01", NoticeKind.QUOTE_PAIR_REMOVAL),
        ("AAAQ has been delisted", NoticeKind.DELISTED),
        ("Special Treatment (ST) tag for AAAQ", NoticeKind.ST_TAG),
        ("Monitoring Tag will be added to AAAQ", NoticeKind.ST_TAG),
        ("에이(AAAQ) 거래유의종목 지정 안내", NoticeKind.CAUTION),
        ("Suspension of AAAQ deposits", NoticeKind.SUSPEND),
        ("에이(AAAQ) 입출금 중단 안내", NoticeKind.SUSPEND),
        ("Deposits suspended for the AAAQ network upgrade", NoticeKind.MAINTENANCE),
        ("에이(AAAQ) 지갑 점검에 따른 입출금 중단 안내", NoticeKind.MAINTENANCE),
        ("AAAQ deposits and withdrawals resumed", NoticeKind.RESUME),
        ("New listing: AAAQ", NoticeKind.OTHER),
        ("", NoticeKind.OTHER),
    ],
)
def test_a_title__declares_one_thing(title: str, kind: NoticeKind) -> None:
    assert kind_of(title) is kind


@each(
    ("title", "scope"),
    [
        ("Delisting of AAAQ", NoticeScope.SPOT),
        ("Delisting of the AAAQUSDT perpetual contract", NoticeScope.FUTURES),
        ("AAAQ is removed from margin trading", NoticeScope.MARGIN),
        ("Delisting of AAAQ from Loans", NoticeScope.LOAN),
    ],
)
def test_a_title__says_which_business_it_is_about(title: str, scope: NoticeScope) -> None:
    assert scope_of(title) is scope


@each(
    ("title", "bases"),
    [
        ("Will Delist Projects (AAAQ) and (BBBQ)", ("AAAQ", "BBBQ")),
        ("Delisting of AAAQ/USDT and BBBQUSDC", ("AAAQ", "BBBQ")),
        ("OKX to delist AAAQ, BBBQ", ("AAAQ", "BBBQ")),
        ("Delisting of ZZZQ, which nobody lists", ()),
        ("A NEW ST tag ON UTC", ()),
    ],
)
def test_a_title__names_tickers_that_the_venue_lists(title: str, bases: tuple[str, ...]) -> None:
    assert bases_in(title, frozenset({"AAAQ", "BBBQ", "ON", "NEW"})) == bases
