"""Who is in the simulator's world: its exchanges, the coins that all of them list, and invented
coins, each of which has a part in the script (script.py).

Nothing bad happens to a coin that exists: those with a part have invented tickers, which end in Q.
"""

from dataclasses import dataclass
from typing import Final

from indexer.venues.port import Capabilities


@dataclass(frozen=True, slots=True)
class SimExchange:
    """`liquidity`: against the largest. `pair`: how it writes a market id. `taker_fee_bps`: what the
    simulated exchange takes; it is no statement on the exchange of that name.
    """

    id: str
    quote: str
    liquidity: float
    pair: str
    capabilities: Capabilities
    taker_fee_bps: float = 10.0


def _capabilities(
    *,
    currencies: bool = True,
    networks: bool = True,
    contracts: bool = True,
    st_tag: bool = False,
    caution: bool = False,
    levels: int = 200,
    books_a_call: int = 100,
) -> Capabilities:
    return Capabilities(
        currencies=currencies,
        networks=networks,
        contracts=contracts,
        notices=True,
        st_tag=st_tag,
        caution=caution,
        websocket=True,
        max_book_levels=levels,
        books_a_call=books_a_call,
        books_per_minute=60_000,
    )


_KOREAN: Final = {"contracts": False, "caution": True}
_EXCHANGES = (
    SimExchange("binance", "USDT", 1.0, "{base}{quote}", _capabilities()),
    SimExchange("bybit", "USDT", 0.6, "{base}{quote}", _capabilities(st_tag=True)),
    SimExchange("okx", "USDT", 0.6, "{base}-{quote}", _capabilities()),
    SimExchange("coinbase", "USD", 0.5, "{base}-{quote}", _capabilities(currencies=False), 60.0),
    SimExchange("kraken", "USD", 0.35, "{base}/{quote}", _capabilities(networks=False, contracts=False), 40.0),
    SimExchange("kucoin", "USDT", 0.25, "{base}-{quote}", _capabilities(st_tag=True)),
    SimExchange("gate", "USDT", 0.25, "{base}_{quote}", _capabilities(st_tag=True), 20.0),
    SimExchange("bitget", "USDT", 0.3, "{base}{quote}", _capabilities()),
    SimExchange("mexc", "USDT", 0.2, "{base}{quote}", _capabilities(st_tag=True), 5.0),
    SimExchange("upbit", "KRW", 0.45, "{quote}-{base}", _capabilities(**_KOREAN, levels=30), 5.0),
    SimExchange("bithumb", "KRW", 0.2, "{quote}-{base}", _capabilities(**_KOREAN, levels=30), 25.0),
    SimExchange("coinone", "KRW", 0.06, "{base}/{quote}", _capabilities(**_KOREAN, networks=False, levels=16), 20.0),
    SimExchange("korbit", "KRW", 0.04, "{base}_{quote}", _capabilities(**_KOREAN, currencies=False, networks=False, levels=30), 15.0),
)  # fmt: skip
EXCHANGES: Final = {one.id: one for one in _EXCHANGES}

ETHEREUM: Final = "eip155:1"
BNB_CHAIN: Final = "eip155:56"
SOLANA: Final = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
TRON: Final = "tron:0x2b6653dc"


@dataclass(frozen=True, slots=True)
class SimCoin:
    """`price_usd`: about what it costs. `chains`: the first is its home; it is the coin of the chain
    itself where `is_native`. `exchanges`: where it is listed; empty: everywhere. `rank`: how liquid,
    1 is the most.
    """

    ticker: str
    price_usd: float
    chains: tuple[str, ...]
    is_native: bool = False
    asset_class: str = "crypto"
    exchanges: tuple[str, ...] = ()
    rank: int = 0
    twin: bool = False  # another coin has the same ticker


MAJORS: Final = (
    SimCoin("BTC", 95_000.0, ("bip122:000000000019d6689c085ae165831e93",), is_native=True),
    SimCoin("ETH", 3_300.0, (ETHEREUM,), is_native=True),
    SimCoin("SOL", 190.0, (SOLANA,), is_native=True),
    SimCoin("XRP", 2.2, ("xrpl:0",), is_native=True),
    SimCoin("DOGE", 0.33, ("bip122:1a91e3dace36e2be3bf030a65679fe82",), is_native=True),
    SimCoin("ADA", 0.9, ("cip34:1-764824073",), is_native=True),
    SimCoin("LINK", 22.0, (ETHEREUM, BNB_CHAIN)),
    SimCoin("UNI", 13.0, (ETHEREUM,)),
    SimCoin("AAVE", 310.0, (ETHEREUM,)),
    SimCoin("ARB", 0.75, ("eip155:42161",)),
    SimCoin("OP", 1.8, ("eip155:10",)),
    SimCoin("POL", 0.48, (ETHEREUM,)),
    SimCoin("AVAX", 37.0, ("eip155:43114",), is_native=True),
    SimCoin("NEAR", 5.1, ("near:mainnet",), is_native=True),
    SimCoin("APT", 9.2, ("aptos:1",), is_native=True),
    SimCoin("SUI", 4.1, ("sui:mainnet",), is_native=True),
    SimCoin("TRX", 0.25, (TRON,), is_native=True),
    SimCoin("TON", 5.4, ("ton:-239",), is_native=True),
    SimCoin("LTC", 103.0, ("bip122:12a765e31ffd4059bada1e25190f6e98",), is_native=True),
    SimCoin("STRK", 0.45, (ETHEREUM,)),
)  # fmt: skip
STABLES: Final = (
    SimCoin(
        "USDT", 1.0, (ETHEREUM, BNB_CHAIN, TRON), asset_class="stablecoin", rank=1,
        exchanges=("upbit", "bithumb", "coinone", "korbit", "coinbase", "kraken"),
    ),
    SimCoin(
        "USDC", 1.0, (ETHEREUM, SOLANA), asset_class="stablecoin", rank=2,
        exchanges=("binance", "bybit", "okx", "kucoin", "gate", "upbit", "bithumb"),
    ),
    SimCoin(
        "USDQ", 1.0, (ETHEREUM,), asset_class="stablecoin", rank=40, exchanges=("gate", "mexc")
    ),
)  # fmt: skip
SECOND_QUOTES: Final = (("binance", "ARB", "USDC"), ("binance", "ETH", "USDC"))

HALTED: Final = tuple(f"HAL{letter}Q" for letter in "ABCDEFGHIJKL")


def _part(ticker: str, rank: int, *exchanges: str, price: float = 1.0, **more: object) -> SimCoin:
    chains = more.pop("chains", (ETHEREUM,))
    return SimCoin(ticker, price, chains, exchanges=exchanges, rank=rank, **more)  # type: ignore[arg-type]  # the fields of SimCoin


PARTS: Final = (
    _part("VELTQ", 30, "gate", "mexc", "bitget", "kucoin", price=0.8),
    _part("MORUQ", 24, "upbit", "bithumb", "coinone", "korbit", "gate", price=0.12),
    _part("QORNQ", 34, "mexc", "kucoin", price=2.4),
    _part("TAVIQ", 32, "bitget", "gate", "okx", price=5.5),
    _part("LUMAQ", 22, "binance", "okx", price=0.4),
    _part("ELVAQ", 26, "okx", "bybit", price=1.9),
    _part("XOLTQ", 26, "binance", "okx", price=3.0),
    _part("XOLTQ", 36, "gate", "mexc", price=0.02, twin=True),
    _part("NUVAQ", 28, "kucoin", "gate", price=0.6),
    _part("ARQNQ", 20, "kucoin", "okx", "binance", price=7.0),
    _part("TRIOQ", 20, "binance", "bybit", "gate", "kucoin", price=11.0),
    _part("OLDTQ", 44, "mexc", "gate", price=0.01),
    _part("DUSTQ", 38, "mexc", "bitget", price=0.2),
    _part("DRYSQ", 42, "gate", "coinone", price=0.7),
    _part("SUPLQ", 30, "bybit", "kucoin", "mexc", price=0.15),
    _part("TAGSQ", 36, "kucoin", "gate", "bitget", price=0.5),
    _part("SUSPQ", 33, "bithumb", "upbit", price=0.25),
    _part("ACMEQ", 30, "bybit", "kraken", price=240.0, asset_class="tokenised_equity"),
    *(_part(one, 28, "bitget", "gate", "mexc", price=0.4, chains=(BNB_CHAIN,)) for one in HALTED),
)
