"""All SQL of owners' alerts.

Nothing here commits, and nothing deletes an alert (core.alerts.tables).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import BigInteger, Text, and_, literal, literal_column, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.alerts.tables import (
    PAYLOAD_AGENT_ID,
    PAYLOAD_MANDATE_ID,
    STANDING_MONEY_AT_COST,
    STANDING_OF_AGENT,
    STANDING_OF_LOG,
    OwnerAlert,
)
from core.db.arrays import table_of
from core.db.engine import WriteSession
from core.hexes import bytes_of

KEEPER_CHANGE = "keeper_change"
MONEY_AT_COST = "money_at_cost"
RECORD_HELD = "record_held"
AGENT_WALLET_LINKED = "agent_wallet_linked"
AGENT_RECOVERED = "agent_recovered"
HL_KEY_LOST = "hl_key_lost"
MONEY_AT_COST_EVERY = timedelta(hours=24)
LOG = ("owner_id", "chain_id", "tx_hash", "log_index")


class OfLog(Protocol):
    """Where the chain says it. Hashes are 0x hex; None: no log says it."""

    @property
    def chain_id(self) -> int | None: ...
    @property
    def tx_hash(self) -> str | None: ...
    @property
    def log_index(self) -> int | None: ...
    @property
    def block_number(self) -> int | None: ...
    @property
    def block_hash(self) -> str | None: ...
    @property
    def occurred_at(self) -> datetime: ...


def add(
    session: WriteSession,
    kind: str,
    owner_ids: Sequence[int],
    row: OfLog,
    payload: Mapping[str, Any],
    now: datetime,
) -> None:
    """Alert each owner to the log that the ledger's row is made of, unless they have a standing
    alert of it.

    `payload`: {event, args}, and {mandate_id} (public) when it is about one mandate.
    """
    if row.tx_hash is None or row.block_hash is None or not owner_ids:
        return
    log = {
        "kind": kind,
        "chain_id": row.chain_id,
        "tx_hash": bytes_of(row.tx_hash),
        "log_index": row.log_index,
        "block_number": row.block_number,
        "block_hash": bytes_of(row.block_hash),
        "payload": dict(payload),
        "occurred_at": row.occurred_at,
        "created_at": now,
    }
    owners = table_of("owners", {"owner_id": (BigInteger, owner_ids)})
    columns = [literal(value, OwnerAlert.__table__.c[name].type) for name, value in log.items()]
    statement = insert(OwnerAlert).from_select(
        ["owner_id", *log], select(owners.c.owner_id, *columns)
    )
    session.execute(
        statement.on_conflict_do_nothing(index_elements=LOG, index_where=text(STANDING_OF_LOG))
    )


def add_record_held(
    session: WriteSession,
    owner_ids: Sequence[int],
    block: Mapping[str, Any],
    payload: Mapping[str, Any],
    at: datetime,
    now: datetime,
) -> None:
    """Alert the owners that from this fact of the chain on the mandate's record is held back.

    `block`: chain_id, tx_hash, log_index, block_number and block_hash as the table has them; `at`:
    the block's time.
    """
    values = {
        **block,
        "kind": RECORD_HELD,
        "payload": dict(payload),
        "occurred_at": at,
        "created_at": now,
    }
    session.execute(insert(OwnerAlert), [values | {"owner_id": owner} for owner in owner_ids])


def withdraw_of_mandates(
    session: WriteSession, kind: str, mandates: Collection[tuple[int, str]], now: datetime
) -> None:
    """Withdraw the alerts of these mandates, (owner, public id)."""
    owners, public_ids = [owner for owner, _ in mandates], [public_id for _, public_id in mandates]
    asked = table_of("asked", {"owner_id": (BigInteger, owners), "public_id": (Text, public_ids)})
    mine = and_(
        OwnerAlert.owner_id == asked.c.owner_id,
        literal_column(PAYLOAD_MANDATE_ID) == asked.c.public_id,
    )
    statement = update(OwnerAlert).where(
        mine, OwnerAlert.kind == kind, OwnerAlert.withdrawn_at.is_(None)
    )
    session.execute(statement.values(withdrawn_at=now))


def add_of_agent(
    session: WriteSession,
    kind: str,
    owner_id: int,
    agent_id: int,
    args: Mapping[str, Any],
    now: datetime,
) -> None:
    """Alert the owner to a change of an agent's account, unless such an alert is standing.

    `args`: JSON, shown as it is.
    """
    payload = {"agent_id": str(agent_id), "event": None, "args": {"user_id": agent_id, **args}}
    values = {
        "owner_id": owner_id,
        "kind": kind,
        "payload": payload,
        "occurred_at": now,
        "created_at": now,
    }
    statement = insert(OwnerAlert).values(values)
    statement = statement.on_conflict_do_nothing(
        index_elements=[text(PAYLOAD_AGENT_ID), "kind"], index_where=text(STANDING_OF_AGENT)
    )
    session.execute(statement)


def withdraw_of_agent(session: WriteSession, kind: str, agent_id: int, now: datetime) -> None:
    """Withdraw the alert of this kind about the agent."""
    mine = (
        text(STANDING_OF_AGENT),
        literal_column(PAYLOAD_AGENT_ID) == str(agent_id),
        OwnerAlert.kind == kind,
    )
    session.execute(update(OwnerAlert).where(*mine).values(withdrawn_at=now))


def add_hl_key_lost(
    session: WriteSession, owner_id: int, public_id: str, args: Mapping[str, Any], now: datetime
) -> None:
    """Alert the owner that the venue no longer takes the key of a mandate's perpetuals leg.

    The caller holds the leg's row, and calls once for each time that the key is lost.
    """
    payload = {"mandate_id": public_id, "event": None, "args": dict(args)}
    values = {
        "owner_id": owner_id,
        "kind": HL_KEY_LOST,
        "payload": payload,
        "occurred_at": now,
        "created_at": now,
    }
    session.execute(insert(OwnerAlert).values(values))


def money_at_cost_stands(session: Session, public_id: str, at: datetime) -> bool:
    """Whether a standing alert says this of the mandate, less than 24 hours of block time before or
    after `at`.

    The conditions are written out as the index has them, so that the work does not grow with the
    table.
    """
    query = select(OwnerAlert.id).where(
        text(STANDING_MONEY_AT_COST),
        literal_column(PAYLOAD_MANDATE_ID) == public_id,
        OwnerAlert.occurred_at > at - MONEY_AT_COST_EVERY,
        OwnerAlert.occurred_at < at + MONEY_AT_COST_EVERY,
    )
    return session.scalar(query.limit(1)) is not None


def withdraw(
    session: WriteSession, chain_id: int, block_hashes: Iterable[str], now: datetime
) -> None:
    """The blocks were orphaned: what they said no longer holds. The alerts stay and say since when.

    A record that is held may be so for other blocks too: that alert ends with what is held
    (`withdraw_of_mandates`).
    """
    orphaned = [bytes_of(block_hash) for block_hash in block_hashes]
    standing = (
        OwnerAlert.chain_id == chain_id,
        OwnerAlert.block_hash.in_(orphaned),
        OwnerAlert.withdrawn_at.is_(None),
    )
    session.execute(
        update(OwnerAlert).where(*standing, OwnerAlert.kind != RECORD_HELD).values(withdrawn_at=now)
    )


def alerts_of_owner(
    session: Session, owner_id: int, before_id: int | None, limit: int
) -> list[OwnerAlert]:
    """The newest first, withdrawn ones included; `before_id` exclusive."""
    query = select(OwnerAlert).where(OwnerAlert.owner_id == owner_id)
    if before_id is not None:
        query = query.where(OwnerAlert.id < before_id)
    return list(session.scalars(query.order_by(OwnerAlert.id.desc()).limit(limit)))
