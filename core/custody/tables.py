"""Starter wallets whose keys this service holds, and what was asked to leave them.

Keys are sealed (core/custody/keys.py).
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Text, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Uint256


class CustodialWallet(Base):
    """One a account. The ciphertext opens for this account and address only."""

    __tablename__ = "custodial_wallet"
    __table_args__ = (
        Index("ix_custodial_wallet_key_version_account_id", "key_version", "account_id"),
    )

    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id"), primary_key=True, autoincrement=False
    )
    address: Mapped[bytes] = mapped_column(BYTEA, unique=True)
    ciphertext: Mapped[bytes] = mapped_column(BYTEA)
    key_version: Mapped[str] = mapped_column(Text)  # which key-encryption key; not the key
    created_at: Mapped[datetime]


class CustodialTransfer(Base):
    """What a row of the outbox is to move, and where to. Never changed."""

    __tablename__ = "custodial_transfer"
    __table_args__ = (
        CheckConstraint("amount_usdc_e6 > 0", name="amount_usdc_e6"),
        Index("ix_custodial_transfer_account_id_outbox_id", "account_id", "outbox_id"),
    )

    outbox_id: Mapped[int] = mapped_column(
        ForeignKey("outbox.id"), primary_key=True, autoincrement=False
    )
    account_id: Mapped[int] = mapped_column(ForeignKey("custodial_wallet.account_id"))
    to: Mapped[bytes] = mapped_column(BYTEA)  # the account's linked wallet when it was asked
    amount_usdc_e6: Mapped[int] = mapped_column(Uint256)
    # the account's when it was asked
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    expires_at: Mapped[datetime]  # exclusive; the authorization's validBefore, in whole seconds
    created_at: Mapped[datetime]
