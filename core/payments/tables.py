"""Payments of calls in USDC.

A row is written before anything leaves the process, so that a payment serves once.

Not a ledger: a row of x402_payment moves on, claimed -> settled -> served; the chain is what proves
it.
"""

from datetime import date, datetime

from sqlalchemy import (
    CheckConstraint,
    Date,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Hash32, Uint256, sql_list
from core.payments.rules import UNSETTLED, PaymentState


class X402Payment(Base):
    """An EIP-3009 authorization that somebody sent for a resource.

    One a (asset, payer, nonce), whatever it is sent for.
    """

    __tablename__ = "x402_payment"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(PaymentState)}", name="state"),
        Index(
            "ix_x402_payment_open",
            "asset",
            "payer",
            postgresql_where=text(f"state in {sql_list(UNSETTLED)}"),
        ),
        Index(
            "ix_x402_payment_slot",
            "slot",
            postgresql_where=text(f"slot is not null and state <> '{PaymentState.SERVED}'"),
        ),
    )

    asset: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    payer: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    nonce: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    # null: the call came without a key
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    resource: Mapped[str] = mapped_column(Text)  # the URL that was paid for
    price_key: Mapped[str] = mapped_column(Text)
    amount_usdc_e6: Mapped[int] = mapped_column(Uint256)
    pay_to: Mapped[bytes] = mapped_column(BYTEA)
    # SHA-256: who retries holds the very payment
    signature_hash: Mapped[bytes] = mapped_column(Hash32)
    # of a payment without an agent's account: what its sender alone can say again
    # (api/payments/sender.py). Null: an agent's
    sent_by: Mapped[bytes | None] = mapped_column(Hash32)
    state: Mapped[str] = mapped_column(Text)
    # the chain's height when it was first claimed: it can't have settled below
    claimed_block: Mapped[int]
    # unix seconds; from then on it cannot settle. Null: not known
    valid_before: Mapped[int | None] = mapped_column(Uint256)
    # while claimed: the transaction that is under way, as the facilitator says
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    failure: Mapped[str | None] = mapped_column(Text)  # why the last try to settle failed
    # tries that failed, each a transaction at our cost
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    # SHA-256 of the call's idempotency scope and key; null: sent without a key
    slot: Mapped[bytes | None] = mapped_column(Hash32)
    claimed_at: Mapped[datetime]  # last: each try to settle claims it again
    settled_at: Mapped[datetime | None]
    served_at: Mapped[datetime | None]


class X402Payer(Base):
    """How many payments of a payer were ever claimed, again ones included, and for how much: who
    asks twice sees what came between.
    """

    __tablename__ = "x402_payer"

    asset: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    payer: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    claims: Mapped[int]
    claimed_usdc_e6: Mapped[int] = mapped_column(Uint256)


class X402GasDay(Base):
    """What settling has cost in a UTC day, in wei: by the receipts, and what is reserved where
    there is none yet.
    """

    __tablename__ = "x402_gas_day"

    day: Mapped[date] = mapped_column(Date, primary_key=True)
    used_wei: Mapped[int] = mapped_column(Uint256)
    contract_wei: Mapped[int] = mapped_column(Uint256)  # of these, for payers that are contracts


class X402Settlement(Base):
    """One try to settle with a key of ours.

    Written, with what it may cost, before anything is sent.
    """

    __tablename__ = "x402_settlement"
    __table_args__ = (
        ForeignKeyConstraint(
            ["asset", "payer", "nonce"],
            ["x402_payment.asset", "x402_payment.payer", "x402_payment.nonce"],
        ),
        Index(
            "ix_x402_settlement_open", "asset", "payer", postgresql_where=text("cost_wei is null")
        ),
        Index(
            "ix_x402_settlement_reverted",
            "asset",
            "payer",
            "reserved_at",
            postgresql_where=text("is_reverted"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    asset: Mapped[bytes] = mapped_column(BYTEA)
    payer: Mapped[bytes] = mapped_column(BYTEA)
    nonce: Mapped[bytes] = mapped_column(Hash32)
    day: Mapped[date] = mapped_column(Date)  # the day whose budget it uses
    reserved_wei: Mapped[int] = mapped_column(Uint256)
    is_contract: Mapped[bool]  # whether the payer had code when it was judged
    settler: Mapped[bytes | None] = mapped_column(BYTEA)  # whose key; null: not ours
    # null: not sent, or a crash took the answer
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    # by the receipt; 0: nothing was sent. Null: not known, so that all is reserved
    cost_wei: Mapped[int | None] = mapped_column(Uint256)
    is_reverted: Mapped[bool] = mapped_column(server_default=text("false"))
    # of a contract, valid when it was asked
    bars_payer: Mapped[bool] = mapped_column(server_default=text("false"))
    reserved_at: Mapped[datetime]


class VaultPayment(Base):
    """An event X402Paid of a vault that was presented for a resource.

    The chain settled it before; it is served once.
    """

    __tablename__ = "vault_payment"

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    tx_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    vault: Mapped[bytes] = mapped_column(BYTEA)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    resource: Mapped[str] = mapped_column(Text)
    price_key: Mapped[str] = mapped_column(Text)
    amount_usdc_e6: Mapped[int] = mapped_column(Uint256)
    served_at: Mapped[datetime]


class GuardSignature(Base):
    """A payment that the guard signed for an agent.

    It counts against the key's limits until it is mined or its deadline has passed.
    """

    __tablename__ = "guard_signature"
    __table_args__ = (Index("ix_guard_signature_agent_id_deadline", "agent_id", "deadline"),)

    vault: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    nonce: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    amount_usdc_e6: Mapped[int] = mapped_column(Uint256)
    deadline: Mapped[int]  # unix seconds, inclusive
    signed_at: Mapped[datetime]


class SignedResource(Base):
    """What the guard last signed a payment of this mandate for: the chain's row of the payment has
    the URL's hash alone.
    """

    __tablename__ = "signed_resource"

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    resource_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    resource: Mapped[str] = mapped_column(Text)
    signed_at: Mapped[datetime]
