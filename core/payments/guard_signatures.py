"""Payments that the guard signed for an agent and whose deadline has not passed; mined ones among
them are the chain's to name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, insert, select, tuple_
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.payments.tables import GuardSignature


@dataclass(frozen=True, slots=True)
class SignedByGuard:
    """One signature.

    `vault` and `nonce` as 0x hex in lower case, `deadline` unix seconds, inclusive.
    """

    vault: str
    nonce: str
    amount_usdc_e6: int
    deadline: int


def outstanding(session: Session, agent_id: int, unix_s: int) -> Sequence[SignedByGuard]:
    """Those that may still be mined at that second of the chain or later, the first to end
    first.
    """
    query = select(GuardSignature).where(
        GuardSignature.agent_id == agent_id, GuardSignature.deadline >= unix_s
    )
    rows = session.scalars(query.order_by(GuardSignature.deadline, GuardSignature.nonce))
    return [
        SignedByGuard(hex_of(row.vault), hex_of(row.nonce), row.amount_usdc_e6, row.deadline)
        for row in rows
    ]


def keep(
    session: WriteSession, agent_id: int, signed: SignedByGuard, unix_s: int, now: datetime
) -> None:
    """Those of the agent that ended before `unix_s` go."""
    session.execute(
        delete(GuardSignature).where(
            GuardSignature.agent_id == agent_id, GuardSignature.deadline < unix_s
        )
    )
    values = {
        "vault": bytes_of(signed.vault),
        "nonce": bytes_of(signed.nonce),
        "agent_id": agent_id,
        "signed_at": now,
    }
    session.execute(
        insert(GuardSignature).values(
            values | {"amount_usdc_e6": signed.amount_usdc_e6, "deadline": signed.deadline}
        )
    )


def drop_guard_signatures(session: WriteSession, before_s: int, limit: int) -> int:
    """Drop at most `limit` signatures of the guard whose deadline (unix seconds) was before then.

    How many went.
    """
    key = (GuardSignature.vault, GuardSignature.nonce)
    old = select(*key).where(GuardSignature.deadline < before_s).limit(limit)
    return len(
        session.execute(
            delete(GuardSignature).where(tuple_(*key).in_(old)).returning(GuardSignature.nonce)
        ).all()
    )
