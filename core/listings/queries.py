"""Reads and writes of listings. Nothing here commits."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, Text, any_, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.listings.rules import Symbol, token_id
from core.listings.tables import ExchangeListing


def find_listing(session: Session, exchange: str, symbol: Symbol) -> ExchangeListing | None:
    query = select(ExchangeListing).where(
        ExchangeListing.token_id == token_id(exchange, symbol.base, symbol.quote)
    )
    return session.scalar(query)


def lock_listing(session: WriteSession, listing_id: int) -> ExchangeListing:
    """The row, held until the transaction ends, so that what is written for a listing comes one
    after the other. Errors: sqlalchemy.exc.NoResultFound.
    """
    return session.get_one(
        ExchangeListing, listing_id, with_for_update={"key_share": True}, populate_existing=True
    )


def add_listings(
    session: WriteSession,
    exchange: str,
    symbols: Iterable[Symbol],
    *,
    is_simulated: bool,
    now: datetime,
) -> int:
    """Add those that the exchange does not have yet; how many."""
    rows = [
        {
            "token_id": token_id(exchange, symbol.base, symbol.quote),
            "exchange": exchange,
            "base": symbol.base,
            "quote": symbol.quote,
            "is_simulated": is_simulated,
            "created_at": now,
        }
        for symbol in symbols
    ]
    if not rows:
        return 0
    add = insert(ExchangeListing).on_conflict_do_nothing().returning(ExchangeListing.id)
    return len(session.execute(add, rows).all())


def ids_of(session: Session, token_ids: Collection[str]) -> Mapping[str, int]:
    """By token id; those that there are."""
    query = select(ExchangeListing.token_id, ExchangeListing.id).where(
        ExchangeListing.token_id == any_(cast(list(token_ids), ARRAY(Text)))
    )
    return dict(session.execute(query).all())


def counts(session: Session) -> Mapping[str, int]:
    """Listings of each exchange that has any."""
    of_each = select(ExchangeListing.exchange, func.count()).group_by(ExchangeListing.exchange)
    return dict(session.execute(of_each).all())


@dataclass(frozen=True, slots=True)
class ListedTotals:
    """Of all exchanges. `simulated`: of the `listings`; `tokens`: each once."""

    listings: int
    simulated: int
    tokens: int


def totals(session: Session) -> ListedTotals:
    simulated = func.count().filter(ExchangeListing.is_simulated)
    query = select(func.count(), simulated, func.count(ExchangeListing.base.distinct()))
    return ListedTotals(*session.execute(query.select_from(ExchangeListing)).one())


def tokens_of(session: Session, ids: Select[tuple[int]]) -> int:
    """How many different ones the listings are of."""
    query = select(func.count(ExchangeListing.base.distinct())).where(ExchangeListing.id.in_(ids))
    return session.scalar(query) or 0


def listings_of(session: Session, ids: Collection[int]) -> Mapping[int, ExchangeListing]:
    query = select(ExchangeListing).where(ExchangeListing.id.in_(ids))
    return {one.id: one for one in session.scalars(query)}
