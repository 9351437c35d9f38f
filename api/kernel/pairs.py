"""The pair that a call names (docs/mining.md#listings)."""

from api.kernel.operation import Call, Refusal
from core.listings.queries import find_listing
from core.listings.rules import Symbol, exchange_of
from core.listings.tables import ExchangeListing


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
