"""Listings as they are shown: what was written, its status, and the name of the agent that runs
it.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Row, Select, literal_column, select
from sqlalchemy.orm import Session

from api.areas.gallery.queries import offer_of
from api.areas.gallery.rules import ListingOffer, ListingStatus, ProductType
from api.areas.gallery.tables import GalleryOffer, GalleryShelf
from core.identity.tables import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownListing:
    """`operator`: the agent's name. `owner_id`, of the agent's owner, is never shown.

    `place`: its latest status event, by which lists run.
    """

    id: int
    public_id: str
    agent_id: int
    operator: str
    owner_id: int | None
    offer: ListingOffer
    status: ListingStatus
    status_at: datetime
    created_at: datetime
    place: int


def find_listing(session: Session, public_id: str) -> ShownListing | None:
    row = session.execute(_shown().where(GalleryOffer.public_id == public_id)).one_or_none()
    return None if row is None else _listing(row)


def listed(
    session: Session, product_type: ProductType | None, before: int | None, limit: int
) -> list[ShownListing]:
    """What is listed, the newest first, before that place (exclusive; None: the newest)."""
    # the words of the partial indexes' predicate, no parameter
    query = _shown().where(GalleryShelf.status == literal_column("'listed'"))
    if product_type is not None:
        query = query.where(GalleryShelf.product_type == product_type.value)
    if before is not None:
        query = query.where(GalleryShelf.event_id < before)
    query = query.order_by(GalleryShelf.event_id.desc()).limit(limit)
    return [_listing(row) for row in session.execute(query)]


def _shown() -> Select[GalleryOffer, GalleryShelf, str, int | None]:
    return (
        select(GalleryOffer, GalleryShelf, Account.name, Account.owner_id)
        .join(GalleryShelf, GalleryShelf.listing_id == GalleryOffer.id)
        .join(Account, Account.id == GalleryOffer.agent_id)
    )


def _listing(row: Row[GalleryOffer, GalleryShelf, str, int | None]) -> ShownListing:
    listing, shelf, name, owner_id = row
    return ShownListing(
        id=listing.id,
        public_id=listing.public_id,
        agent_id=listing.agent_id,
        operator=name,
        owner_id=owner_id,
        offer=offer_of(listing),
        status=ListingStatus(shelf.status),
        status_at=shelf.changed_at,
        created_at=listing.created_at,
        place=shelf.event_id,
    )
