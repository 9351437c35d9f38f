"""Names of chains."""

from indexer.venues.chains import CHAINS, chain_of, is_own_coin
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
