"""The ledger of signals: one chain for all vaults (docs/fund.md#the-ledger-of-signals).

    head locked --> row chained to the one before --> head moved

Laws
- `at` is the time of the call that publishes, and never before the row before it: no caller chooses
  it, and the order of rows is the order of their times.
- A row never changes. Nothing here commits.
"""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.fund.rules.signals import NewSignal, decimal_text
from core.fund.tables import FundSignal, FundSignalHead
from core.ledger.chain import Link, genesis, ledger_faults, link_hash, lock_head

LEDGER: Final = "fund_signals"
ONE: Final = 1  # the only ledger of its kind, and the only head


def publish(session: WriteSession, signal: NewSignal, by_id: int | None, now: datetime) -> int:
    """The number of the signal's row, which is the signal's id."""
    empty = {"seq": 0, "row_hash": genesis(LEDGER, ONE), "at": None}
    head = lock_head(session, FundSignalHead, {"id": ONE}, empty)
    seq, at = head.seq + 1, max(now, head.at or now).astimezone(UTC)
    row_hash = link_hash(head.row_hash, signal.body(seq, at))
    session.execute(
        insert(FundSignal).values(
            seq=seq,
            vault_id=signal.vault_id,
            rules_version=signal.rules_version,
            market=signal.market,
            weight_e4=signal.weight_e4,
            leverage_e2=signal.leverage_e2,
            mid=None if signal.mid is None else decimal_text(signal.mid),
            at=at,
            by_id=by_id,
            prev_hash=head.row_hash,
            row_hash=row_hash,
        )
    )
    session.execute(
        update(FundSignalHead)
        .where(FundSignalHead.id == ONE)
        .values(seq=seq, row_hash=row_hash, at=at)
    )
    return seq


def verify(session: Session) -> list[str]:
    """What is wrong with the ledger or its head; empty: sound."""
    rows = session.scalars(select(FundSignal).order_by(FundSignal.seq))
    head = session.get(FundSignalHead, ONE)
    return ledger_faults(map(link_of, rows), genesis(LEDGER, ONE), head)


def link_of(row: FundSignal) -> Link:
    signal = NewSignal(
        vault_id=row.vault_id,
        rules_version=row.rules_version,
        market=row.market,
        weight_e4=row.weight_e4,
        leverage_e2=row.leverage_e2,
        mid=None if row.mid is None else Decimal(row.mid),
    )
    return Link(row.seq, row.prev_hash, row.row_hash, signal.body(row.seq, row.at))
