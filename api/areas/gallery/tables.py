"""Listings of the gallery. What a seller wrote never changes; what becomes of it are status events,
of which the latest is the listing's status.

The shelf is the projection of both: one row a listing, with what the lists look for.
"""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.gallery.rules import ListingStatus, PriceModel, ProductType
from core.db.base import LOG, Base, sql_list

OPEN = text("status <> 'withdrawn'")
LISTED = text("status = 'listed'")


class GalleryOffer(Base):
    """`agent_id`: who sells it and runs it. `status`: at creation."""

    __tablename__ = "gallery_listing"
    __table_args__ = (
        CheckConstraint(f"product_type in {sql_list(ProductType)}", name="product_type"),
        CheckConstraint(f"price_model in {sql_list(PriceModel)}", name="price_model"),
        CheckConstraint("status in ('draft', 'listed')", name="status"),
        CheckConstraint("char_length(title) between 2 and 80", name="title"),
        CheckConstraint("char_length(summary) <= 140", name="summary"),
        CheckConstraint(
            "(ref_vault_id is not null) = (product_type = 'vault_deposit')", name="ref_vault_id"
        ),
        Index("ix_gallery_listing_agent_id_created_at", "agent_id", "created_at"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    public_id: Mapped[str] = mapped_column(Text, unique=True)  # l_ + 10 lower-case base32
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    made_by: Mapped[Literal["agent", "owner"]] = mapped_column(Text)
    product_type: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    summary: Mapped[str] = mapped_column(Text)
    price_model: Mapped[str] = mapped_column(Text)
    ref_vault_id: Mapped[str | None] = mapped_column(Text)
    markets: Mapped[list[Any]]
    editable_params: Mapped[list[Any]]
    cited: Mapped[list[Any]]
    status: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]


class GalleryStatusEvent(Base):
    """A listing comes to each status once at most."""

    __tablename__ = "gallery_status_event"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(ListingStatus)}", name="status"),
        UniqueConstraint("listing_id", "status"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    listing_id: Mapped[int] = mapped_column(ForeignKey("gallery_listing.id"))
    status: Mapped[str] = mapped_column(Text)
    made_by: Mapped[Literal["agent", "owner"]] = mapped_column(Text)
    at: Mapped[datetime]


class GalleryShelf(Base):
    """`event_id`: the latest status event; lists run by it, newest first."""

    __tablename__ = "gallery_shelf"
    __table_args__ = (
        Index("ix_gallery_shelf_listed", "event_id", postgresql_where=LISTED),
        Index(
            "ix_gallery_shelf_listed_product_type",
            "product_type",
            "event_id",
            postgresql_where=LISTED,
        ),
        Index("ix_gallery_shelf_open", "agent_id", "listing_id", postgresql_where=OPEN),
    )

    listing_id: Mapped[int] = mapped_column(ForeignKey("gallery_listing.id"), primary_key=True)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    product_type: Mapped[str] = mapped_column(Text)
    status: Mapped[str] = mapped_column(Text)
    event_id: Mapped[int] = mapped_column(ForeignKey("gallery_status_event.id"))
    changed_at: Mapped[datetime]
