"""Sponsored buys: what was quoted and signed, what the chain says of the two authorizations, and
the sponsor's heartbeat.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import AddressColumn, Base, HexColumn, Uint256, sql_list
from core.money import UsdcE6
from core.sponsored.rules import Use


class SponsoredBuy(Base):
    """A quote; accepted once both signatures are in. One that is not is dropped when it is over.
    Amounts: USDC base units; tokens: 1e-18.

    Its nonces are random until it is committed: no block before it can hold them.
    """

    __tablename__ = "sponsored_buy"
    __table_args__ = (
        CheckConstraint(
            "(accepted_at is null) = (purchase_signature is null)"
            " and (accepted_at is null) = (fee_signature is null)",
            name="signed",
        ),
        CheckConstraint("(accepted_at is null) = (gas_scopes is null)", name="counted"),
        Index(
            "ix_sponsored_buy_accepted_at",
            "accepted_at",
            postgresql_where=text("accepted_at is not null"),
        ),
        Index("ix_sponsored_buy_account_id_accepted_at", "account_id", "accepted_at"),
        Index("ix_sponsored_buy_buyer", "buyer", postgresql_where=text("accepted_at is not null")),
        Index(
            "ix_sponsored_buy_prepared",
            "valid_before",
            postgresql_where=text("accepted_at is null"),
        ),
        Index("ix_sponsored_buy_valid_before", "valid_before"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)  # public
    chain_id: Mapped[int]
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    buyer: Mapped[str] = mapped_column(AddressColumn)
    recipient: Mapped[str] = mapped_column(AddressColumn)
    reserve_token: Mapped[str] = mapped_column(AddressColumn)
    batch: Mapped[str] = mapped_column(AddressColumn)  # the SponsoredBuy contract
    treasury: Mapped[str] = mapped_column(AddressColumn)
    amount_usdc_e6: Mapped[UsdcE6] = mapped_column(Uint256)
    fee_usdc_e6: Mapped[UsdcE6] = mapped_column(Uint256)  # that is signed
    credit_usdc_e6: Mapped[UsdcE6] = mapped_column(Uint256)  # of fees owed that it uses up
    tokens: Mapped[int] = mapped_column(Uint256)  # by the quote, 1e-18
    min_tokens: Mapped[int] = mapped_column(Uint256)
    salt: Mapped[str] = mapped_column(HexColumn)
    buy_nonce: Mapped[str] = mapped_column(HexColumn, unique=True)
    fee_nonce: Mapped[str] = mapped_column(HexColumn, unique=True)
    covers_wei: Mapped[int] = mapped_column(Uint256)  # the most gas that the fee pays for
    valid_before: Mapped[int]  # unix seconds, exclusive
    expires_at: Mapped[datetime]  # until then it can be handed in, exclusive
    created_at: Mapped[datetime]
    purchase_signature: Mapped[str | None] = mapped_column(HexColumn)
    fee_signature: Mapped[str | None] = mapped_column(HexColumn)
    accepted_at: Mapped[datetime | None]
    # in what it and its gas count for the day (rules.day_scopes)
    gas_scopes: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    # how often it was asked to be sent; the outbox's key of each has its number
    requests: Mapped[int] = mapped_column(default=0)


class SponsoredUse(Base):
    """A log of USDC about one of these authorizations, in its block, orphaned or not."""

    __tablename__ = "sponsored_use"
    __table_args__ = (
        CheckConstraint(f"use in {sql_list(Use)}", name="use"),
        Index("ix_sponsored_use_nonce", "nonce"),
        Index("ix_sponsored_use_number", "number"),
    )

    chain_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    block_hash: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    log_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]
    tx_hash: Mapped[str] = mapped_column(HexColumn)
    nonce: Mapped[str] = mapped_column(HexColumn)
    use: Mapped[str] = mapped_column(Text)
    tokens: Mapped[int | None] = mapped_column(Uint256)


class SponsorHeartbeat(Base):
    """That the keeper can send: one row a chain, written by each of its rounds."""

    __tablename__ = "sponsor_heartbeat"

    chain_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sponsor: Mapped[str] = mapped_column(AddressColumn)
    balance_wei: Mapped[int] = mapped_column(Uint256)
    at: Mapped[datetime]
