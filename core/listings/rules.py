"""What a listing is: a pair that an exchange trades (docs/mining.md#listings).

    path    BTC_USDT          body and query  BTC/USDT          token_id  binance_btc_usdt

Laws
- An exchange is named by its id, exactly as the service returns it; another case is another name.
- Base and quote are capital letters and digits, so no symbol reads two ways.
"""

import re
from dataclasses import dataclass
from typing import Final

from core.errors import InvalidParameterError

TICKER_PATTERN: Final = "[A-Z0-9]{1,20}"
_TICKER = re.compile(TICKER_PATTERN)
_SEPARATORS = re.compile(r"[/_\-:. ]")


@dataclass(frozen=True, slots=True)
class ListedExchange:
    """`code`: as screens show it. `country`: where it is regulated, ISO 3166-1 alpha-2; None: it
    names no home.
    """

    id: str
    code: str
    country: str | None


@dataclass(frozen=True, slots=True)
class Symbol:
    base: str
    quote: str

    @property
    def in_path(self) -> str:
        return f"{self.base}_{self.quote}"

    @property
    def in_body(self) -> str:
        return f"{self.base}/{self.quote}"


_EXCHANGES = (
    ListedExchange("binance", "BN", None),
    ListedExchange("bybit", "BY", "AE"),
    ListedExchange("okx", "OK", "SC"),
    ListedExchange("coinbase", "CB", "US"),
    ListedExchange("kraken", "KR", "US"),
    ListedExchange("kucoin", "KC", "SC"),
    ListedExchange("gate", "GT", "KY"),
    ListedExchange("bitget", "BG", "SC"),
    ListedExchange("mexc", "MX", "SC"),
    ListedExchange("upbit", "UP", "KR"),
    ListedExchange("bithumb", "BH", "KR"),
    ListedExchange("coinone", "CO", "KR"),
    ListedExchange("korbit", "KB", "KR"),
)
EXCHANGES: Final = {one.id: one for one in _EXCHANGES}


def exchange_of(field: str, sent: str) -> ListedExchange:
    """Errors: InvalidParameterError, which names the id where the exchange is meant."""
    found = EXCHANGES.get(sent)
    if found is not None:
        return found
    meant = EXCHANGES.get(sent.strip().lower())
    if meant is not None:
        raise InvalidParameterError(field, f"write {meant.id}, the id of this exchange")
    raise InvalidParameterError(field, f"write the id of an exchange: {', '.join(EXCHANGES)}")


def symbol_in_path(field: str, sent: str) -> Symbol:
    """Errors: InvalidParameterError, which names the right form where the pair is meant."""
    return _symbol(field, sent, "_", "a path")


def symbol_in_body(field: str, sent: str) -> Symbol:
    """Errors: InvalidParameterError, which names the right form where the pair is meant."""
    return _symbol(field, sent, "/", "a body or query")


def token_id(exchange: str, base: str, quote: str) -> str:
    return f"{exchange}_{base}_{quote}".lower()


def _symbol(field: str, sent: str, separator: str, where: str) -> Symbol:
    base, found, quote = sent.partition(separator)
    if found and _TICKER.fullmatch(base) and _TICKER.fullmatch(quote):
        return Symbol(base, quote)
    form = separator.join(("<BASE>", "<QUOTE>"))
    parts = _SEPARATORS.split(sent.upper()) if sent.isascii() else []
    if len(parts) == 2 and all(_TICKER.fullmatch(part) for part in parts):
        raise InvalidParameterError(
            field, f"write {separator.join(parts)}; in {where} a pair is {form}"
        )
    raise InvalidParameterError(
        field, f"write a pair as {form}, capital letters and digits, at most 20 each"
    )
