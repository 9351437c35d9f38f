"""Coins and what venues say of their networks, in one line each."""

from core.market.facts import NetworkStatus
from core.market.rules.identity import Coin

ETH, BSC, SOL = "eip155:1", "eip155:56", "solana:mainnet"


def address(number: int) -> str:
    return f"0x{number:040x}"


def says(
    exchange: str,
    base: str,
    chain: str,
    contract: str | None,
    *,
    deposit: bool | None = True,
    withdraw: bool | None = True,
    fee: float | None = 0.5,
    is_native: bool = False,
) -> NetworkStatus:
    return NetworkStatus(exchange, base, chain, deposit, withdraw, contract, is_native, fee)


def tickers(statuses: list[NetworkStatus], *others: Coin) -> dict[Coin, str]:
    """Every coin under the ticker that its venue writes."""
    coins = [*others, *(Coin(one.exchange, one.native_base) for one in statuses)]
    return {coin: coin.native_base for coin in coins}
