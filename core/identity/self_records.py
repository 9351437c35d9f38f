"""What agents declare of themselves: versions that are only added
(docs/identity.md#the-self-record).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.identity.tables import AgentSelfVersion

Writer = Literal["agent", "owner"]


@dataclass(frozen=True, slots=True)
class SignedText:
    """The text that was signed, the signature (0x hex) and the wallet (20 bytes) that signed."""

    message: str
    signature: str
    wallet: bytes


def add_version(
    session: WriteSession,
    agent_id: int,
    writer: Writer,
    record: Mapping[str, Any],
    record_sha256: bytes,
    signed: SignedText | None,
    now: datetime,
) -> AgentSelfVersion:
    version = AgentSelfVersion(
        agent_id=agent_id,
        written_by=writer,
        record=dict(record),
        record_sha256=record_sha256,
        message=None if signed is None else signed.message,
        signature=None if signed is None else bytes.fromhex(signed.signature.removeprefix("0x")),
        signed_by=None if signed is None else signed.wallet,
        created_at=now,
    )
    session.add(version)
    session.flush()
    return version


def newest_version(session: Session, agent_id: int, writer: Writer) -> AgentSelfVersion | None:
    query = select(AgentSelfVersion).where(
        AgentSelfVersion.agent_id == agent_id, AgentSelfVersion.written_by == writer
    )
    return session.scalar(query.order_by(AgentSelfVersion.id.desc()).limit(1))


def count_versions(session: Session, agent_id: int, writer: Writer) -> int:
    query = select(func.count()).where(
        AgentSelfVersion.agent_id == agent_id, AgentSelfVersion.written_by == writer
    )
    return session.scalar(query) or 0
