"""Reads and writes of listings. Nothing here commits."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Text, any_, cast, func, literal, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.listings.rules import Symbol, token_id
from core.listings.tables import ExchangeListing, ListingCount, ListingToken


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
    listed = list(symbols)
    rows = [
        {
            "token_id": token_id(exchange, symbol.base, symbol.quote),
            "exchange": exchange,
            "base": symbol.base,
            "quote": symbol.quote,
            "is_simulated": is_simulated,
            "created_at": now,
        }
        for symbol in listed
    ]
    if not rows:
        return 0
    added = len(
        session.execute(
            insert(ExchangeListing).on_conflict_do_nothing().returning(ExchangeListing.id), rows
        ).all()
    )
    tokens = _add_tokens(session, {symbol.base for symbol in listed})
    if added or tokens:
        new = {"listings": added, "simulated": added if is_simulated else 0, "tokens": tokens}
        count = insert(ListingCount).values(exchange=exchange, **new)
        moved = {name: getattr(ListingCount, name) + by for name, by in new.items()}
        session.execute(
            count.on_conflict_do_update(index_elements=[ListingCount.exchange], set_=moved)
        )
    return added


def _add_tokens(session: WriteSession, tickers: Collection[str]) -> int:
    """How many of them no exchange had listed: who adds one at once with another waits for it."""
    add = insert(ListingToken).on_conflict_do_nothing().returning(ListingToken.token)
    return len(session.execute(add, [{"token": one} for one in sorted(tickers)]).all())


def count_fact(session: WriteSession, listing_id: int, by: int) -> int:
    """How many values the listing's token has at all exchanges, after one was added or taken back."""
    of = select(ExchangeListing.base, literal(by)).where(ExchangeListing.id == listing_id)
    add = insert(ListingToken).from_select(["token", "facts"], of)
    moved = add.on_conflict_do_update(
        index_elements=[ListingToken.token], set_={"facts": ListingToken.facts + by}
    )
    return session.scalars(moved.returning(ListingToken.facts)).one()


def ids_of(session: Session, token_ids: Collection[str]) -> Mapping[str, int]:
    """By token id; those that there are."""
    query = select(ExchangeListing.token_id, ExchangeListing.id).where(
        ExchangeListing.token_id == any_(cast(list(token_ids), ARRAY(Text)))
    )
    return dict(session.execute(query).all())


def counts(session: Session) -> Mapping[str, int]:
    """Listings of each exchange that has any."""
    return dict(session.execute(select(ListingCount.exchange, ListingCount.listings)).all())


@dataclass(frozen=True, slots=True)
class ListedTotals:
    """Of all exchanges. `simulated`: of the `listings`; `tokens`: each once."""

    listings: int
    simulated: int
    tokens: int


def totals(session: Session) -> ListedTotals:
    sums = (func.sum(getattr(ListingCount, name)) for name in ("listings", "simulated", "tokens"))
    row = session.execute(select(*sums)).one()
    return ListedTotals(*(int(one or 0) for one in row))  # a sum of bigint is numeric


def listings_of(session: Session, ids: Collection[int]) -> Mapping[int, ExchangeListing]:
    query = select(ExchangeListing).where(ExchangeListing.id.in_(ids))
    return {one.id: one for one in session.scalars(query)}
