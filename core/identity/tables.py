"""Accounts, keys, sessions and what the kernel counts.

No secret is here: keys, codes and tokens are HMAC hashes.
"""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Date, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base, Hash32, Uint256


class Account(Base):
    """An agent, an owner or an operator.

    `id` is the agent's public user id; an owner's id never leaves the service.
    """

    __tablename__ = "account"
    __table_args__ = (
        CheckConstraint("kind in ('agent', 'owner', 'operator')", name="kind"),
        Index(
            "uq_account_wallet_address",
            "wallet_address",
            unique=True,
            postgresql_where=text("wallet_address is not null"),
        ),
        Index("ix_account_owner_id", "owner_id"),
        Index("ix_account_registered_from_created_at", "registered_from", "created_at"),
    )

    id: Mapped[int] = mapped_column(Identity(start=1001), primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    wallet_address: Mapped[bytes | None] = mapped_column(BYTEA)
    # an agent's: USDC that reaches the wallet from then on is noted
    wallet_linked_at: Mapped[datetime | None]
    # an agent's: a starter wallet pays it from then on (inclusive); null: never
    wallet_payable_at: Mapped[datetime | None]
    # an agent's: the generation under which it was linked; null: its owner confirmed it
    wallet_generation: Mapped[int | None]
    # an agent's: how often its secrets were replaced
    generation: Mapped[int] = mapped_column(server_default=text("0"))
    # began by the first recovery since the owner last replaced the secrets
    recovered_generation: Mapped[int | None]
    owner_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))  # set on an owned agent
    # another system's name for it (/mining/register)
    external_id: Mapped[str | None] = mapped_column(Text, unique=True)
    recovery_name: Mapped[str | None] = mapped_column(Text, unique=True)
    recovery_hash: Mapped[bytes | None] = mapped_column(Hash32, unique=True)
    registered_from: Mapped[str | None] = mapped_column(Text)  # address, IPv6 by /64
    # an owner's: rows that it added on that UTC day
    writes_on: Mapped[date | None] = mapped_column(Date)
    writes: Mapped[int] = mapped_column(server_default=text("0"))
    created_at: Mapped[datetime]


class ApiKey(Base):
    __tablename__ = "api_key"
    __table_args__ = (Index("ix_api_key_account_id", "account_id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    key_hash: Mapped[bytes] = mapped_column(Hash32, unique=True)
    # null = full access, [] = none
    scopes: Mapped[list[Any] | None] = mapped_column(JSONB(none_as_null=True))
    per_order_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    per_day_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Session(Base):
    """A bearer token: `agent` proves an agent's account for wallet registration only, `owner` is a
    signed-in owner.
    """

    __tablename__ = "session"
    __table_args__ = (
        CheckConstraint("kind in ('agent', 'owner')", name="kind"),
        Index("ix_session_account_id", "account_id"),
        Index("ix_session_expires_at", "expires_at"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    token_hash: Mapped[bytes] = mapped_column(Hash32, unique=True)
    kind: Mapped[str] = mapped_column(Text)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]  # exclusive
    revoked_at: Mapped[datetime | None]


class SignInNonce(Base):
    """A sign-in text of a wallet and purpose; consumed once. A newer one leaves it as it is."""

    __tablename__ = "sign_in_nonce"

    wallet_address: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    purpose: Mapped[str] = mapped_column(Text, primary_key=True)
    nonce: Mapped[str] = mapped_column(Text, primary_key=True, unique=True)
    message: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class RecoveryFailure(Base):
    """A recovery code that was not right, by the network address that sent it; kept for as long as
    the limit looks back.
    """

    __tablename__ = "recovery_failure"
    __table_args__ = (
        Index("ix_recovery_failure_client_at", "client", "at"),
        Index("ix_recovery_failure_at", "at"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    client: Mapped[str] = mapped_column(Text)  # address, IPv6 by /64
    at: Mapped[datetime]


class AddressCount(Base):
    """Calls without a key of a network address since then, by the name of their limit; over once
    its window is.
    """

    __tablename__ = "address_count"
    __table_args__ = (Index("ix_address_count_since", "since"),)

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    client: Mapped[str] = mapped_column(Text, primary_key=True)  # address, IPv6 by /64
    since: Mapped[datetime]
    n: Mapped[int] = mapped_column(Integer)


class RequestCount(Base):
    """Calls of a key in a UTC day: the daily ceiling holds over restarts and replicas."""

    __tablename__ = "request_count"
    __table_args__ = (Index("ix_request_count_day", "day"),)

    key_id: Mapped[int] = mapped_column(ForeignKey("api_key.id"), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    n: Mapped[int] = mapped_column(Integer)
    last_at: Mapped[datetime]


class IdempotencyRecord(Base):
    """The first answer to (scope, key); written in the transaction of the write it answers for."""

    __tablename__ = "idempotency_record"

    scope: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    body_hash: Mapped[bytes] = mapped_column(Hash32)
    status: Mapped[int] = mapped_column(Integer)
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class AgentPolicy(Base):
    __tablename__ = "agent_policy"
    __table_args__ = (
        Index("ix_agent_policy_accepting", "agent_id", postgresql_where=text("accepts_mandates")),
    )

    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    accepts_mandates: Mapped[bool]
    policy: Mapped[dict[str, Any]]  # the whole policy as answered, accepts_mandates included
    updated_at: Mapped[datetime]


class AgentPolicyChange(Base):
    __tablename__ = "agent_policy_change"
    __table_args__ = (Index("ix_agent_policy_change_agent_id_id", "agent_id", "id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    at: Mapped[datetime]
    changes: Mapped[dict[str, Any]]  # {field: {from, to}}


class AgentSelfVersion(Base):
    """What an agent declares of itself, or its owner's seed of a persona.

    Append-only: the newest row of each writer is current.

    `message` is the sign-in text that `signed_by` signed; it holds `record_sha256`.
    """

    __tablename__ = "agent_self_version"
    __table_args__ = (
        CheckConstraint("written_by in ('agent', 'owner')", name="written_by"),
        CheckConstraint(
            "(message is null) = (signature is null) and (message is null) = (signed_by is null)",
            name="signed",
        ),
        Index("ix_agent_self_version_agent_id_written_by_id", "agent_id", "written_by", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    written_by: Mapped[str] = mapped_column(Text)
    record: Mapped[dict[str, Any]]
    record_sha256: Mapped[bytes] = mapped_column(Hash32)
    message: Mapped[str | None] = mapped_column(Text)
    signature: Mapped[bytes | None] = mapped_column(BYTEA)
    signed_by: Mapped[bytes | None] = mapped_column(BYTEA)
    created_at: Mapped[datetime]


class OperatorNumber(Base):
    """The public number of whoever decided something as an operator; an account's id stays
    inside.
    """

    __tablename__ = "operator_number"

    number: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), unique=True)
