"""The exchange and the pair that a call names (docs/mining.md#listings).

What is published is strict; another form is refused by the domain, which names the form that is
meant.
"""

from typing import Annotated

from pydantic import Field

from api.kernel.operation import Call, Refusal
from api.kernel.texts import FreeText
from core.listings.queries import find_listing
from core.listings.rules import EXCHANGES, TICKER_PATTERN, Symbol, exchange_of
from core.listings.tables import ExchangeListing

_MOST = 100  # characters that are looked at

ExchangeId = Annotated[
    str,
    FreeText(_MOST, exact=True),
    Field(
        description="the exchange's id as the service returns it: binance",
        json_schema_extra={"enum": list(EXCHANGES)},
    ),
]
SymbolInPath = Annotated[
    str,
    FreeText(_MOST, exact=True),
    Field(
        description="<BASE>_<QUOTE>: BTC_USDT",
        json_schema_extra={"pattern": f"^{TICKER_PATTERN}_{TICKER_PATTERN}$"},
    ),
]
SymbolInBody = Annotated[
    str,
    FreeText(_MOST, exact=True),
    Field(
        description="<BASE>/<QUOTE>: BTC/USDT",
        json_schema_extra={"pattern": f"^{TICKER_PATTERN}/{TICKER_PATTERN}$"},
    ),
]


def listing_of(call: Call, exchange: str, symbol: Symbol) -> ExchangeListing:
    """Errors: InvalidParameterError; Refusal not_found."""
    known = exchange_of("exchange", exchange).id
    found = find_listing(call.db, known, symbol)
    if found is None:
        raise Refusal(
            "not_found",
            f"symbol: {known} lists no {symbol.in_body}; look the pair up on the board.",
            next_calls=("board.rows",),
        )
    return found
