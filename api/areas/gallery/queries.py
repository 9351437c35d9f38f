"""All writes of the gallery, and the reads that hold its bounds. Nothing here commits."""

from datetime import date, datetime
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from api.areas.gallery.rules import (
    Citation,
    ListingOffer,
    ListingStatus,
    ParamType,
    PriceModel,
    ProductType,
    StrategyParam,
)
from api.areas.gallery.tables import GalleryOffer, GalleryShelf, GalleryStatusEvent
from core.db.engine import WriteSession

MadeBy = Literal["agent", "owner"]


def add_listing(
    session: WriteSession,
    public_id: str,
    agent_id: int,
    offer: ListingOffer,
    status: ListingStatus,
    made_by: MadeBy,
    now: datetime,
) -> None:
    """The listing with its first status event."""
    listing = GalleryOffer(
        public_id=public_id,
        agent_id=agent_id,
        made_by=made_by,
        product_type=offer.product_type.value,
        title=offer.title,
        summary=offer.summary,
        price_model=offer.price_model.value,
        ref_vault_id=offer.ref_vault_id,
        markets=list(offer.markets),
        editable_params=[_param_json(param) for param in offer.editable_params],
        cited=[_citation_json(citation) for citation in offer.cited],
        status=status.value,
        created_at=now,
    )
    session.add(listing)
    session.flush()
    shelf = GalleryShelf(
        listing_id=listing.id, agent_id=agent_id, product_type=offer.product_type.value
    )
    set_status(session, shelf, status, made_by, now)
    session.add(shelf)
    session.flush()


def set_status(
    session: WriteSession,
    shelf: GalleryShelf,
    status: ListingStatus,
    made_by: MadeBy,
    now: datetime,
) -> None:
    """Append a status event. The shelf's row, which is held, follows it."""
    event = GalleryStatusEvent(
        listing_id=shelf.listing_id, status=status.value, made_by=made_by, at=now
    )
    session.add(event)
    session.flush()
    shelf.status, shelf.event_id, shelf.changed_at = status.value, event.id, now


def lock_shelf(session: WriteSession, listing_id: int) -> GalleryShelf:
    """The listing's row, held until the transaction ends. Errors: NoResultFound."""
    return session.get_one(GalleryShelf, listing_id, with_for_update=True, populate_existing=True)


def open_listings(session: Session, agent_id: int, limit: int) -> list[str]:
    """Public ids of the agent's drafts and listed ones, the oldest first."""
    query = (
        select(GalleryOffer.public_id)
        .join(GalleryShelf, GalleryShelf.listing_id == GalleryOffer.id)
        .where(
            GalleryShelf.agent_id == agent_id, GalleryShelf.status != ListingStatus.WITHDRAWN.value
        )
        .order_by(GalleryShelf.listing_id)
        .limit(limit)
    )
    return list(session.scalars(query))


def nth_newest_at(session: Session, agent_id: int, n: int) -> datetime | None:
    """When the agent's nth newest listing was made, from 1; None: there are fewer."""
    query = (
        select(GalleryOffer.created_at)
        .where(GalleryOffer.agent_id == agent_id)
        .order_by(GalleryOffer.created_at.desc())
        .offset(n - 1)
        .limit(1)
    )
    return session.scalar(query)


def offer_of(row: GalleryOffer) -> ListingOffer:
    return ListingOffer(
        product_type=ProductType(row.product_type),
        title=row.title,
        summary=row.summary,
        price_model=PriceModel(row.price_model),
        ref_vault_id=row.ref_vault_id,
        markets=tuple(row.markets),
        editable_params=tuple(_param(one) for one in row.editable_params),
        cited=tuple(_citation(one) for one in row.cited),
    )


def _param_json(param: StrategyParam) -> dict[str, Any]:
    return {
        "name": param.name,
        "type": param.type.value,
        "min_e6": param.min_e6,
        "max_e6": param.max_e6,
        "default_e6": param.default_e6,
    }


def _param(stored: dict[str, Any]) -> StrategyParam:
    return StrategyParam(**{**stored, "type": ParamType(stored["type"])})


def _citation_json(citation: Citation) -> dict[str, Any]:
    return {
        "url": citation.url,
        "source_name": citation.source_name,
        "as_of_date": citation.as_of_date.isoformat(),
        "claim_text": citation.claim_text,
    }


def _citation(stored: dict[str, Any]) -> Citation:
    as_of = date.fromisoformat(stored["as_of_date"])
    return Citation(**{**stored, "as_of_date": as_of})
