"""Reads and writes of listings. Nothing here commits."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from sqlalchemy import Text, any_, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.listings.rules import Symbol, token_id
from core.listings.tables import ExchangeListing, ListingCount


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
    added = len(
        session.execute(
            insert(ExchangeListing).on_conflict_do_nothing().returning(ExchangeListing.id), rows
        ).all()
    )
    if added:
        simulated = added if is_simulated else 0
        count = insert(ListingCount).values(exchange=exchange, listings=added, simulated=simulated)
        session.execute(
            count.on_conflict_do_update(
                index_elements=[ListingCount.exchange],
                set_={
                    "listings": ListingCount.listings + added,
                    "simulated": ListingCount.simulated + simulated,
                },
            )
        )
    return added


def ids_of(session: Session, token_ids: Collection[str]) -> Mapping[str, int]:
    """By token id; those that there are."""
    query = select(ExchangeListing.token_id, ExchangeListing.id).where(
        ExchangeListing.token_id == any_(cast(list(token_ids), ARRAY(Text)))
    )
    return dict(session.execute(query).all())


def counts(session: Session) -> Mapping[str, int]:
    """Listings of each exchange that has any."""
    return dict(session.execute(select(ListingCount.exchange, ListingCount.listings)).all())


def simulated_count(session: Session) -> int:
    # a sum of bigint is numeric
    return int(session.scalar(select(func.coalesce(func.sum(ListingCount.simulated), 0))) or 0)


def listings_of(session: Session, ids: Collection[int]) -> Mapping[int, ExchangeListing]:
    query = select(ExchangeListing).where(ExchangeListing.id.in_(ids))
    return {one.id: one for one in session.scalars(query)}
