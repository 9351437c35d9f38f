"""The drill's restored record beside the original, once the real indexer has read the chain again."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from core.blocks.queries import TIP
from core.blocks.tables import ChainCursor
from core.db.base import Base
from core.mandate.tables import MandateEvent, MandateHead
from core.transfers.tables import TransferBalance
from scripts._processes import Child
from scripts.demo import StepFailedError
from scripts.devstack import CHAIN_ID, Stack
from tests.drill import digests
from tests.integration.indexer.canonical import LIVE, PARTS, canonical_rows

# What another reading of the same chain says alike: not ids, places in the ledger and times of writing.
EVENTS = (
    *("mandate_id", "kind", "base_key", "incarnation", "amount_usdc_e6", "cash_delta_usdc_e6"),
    *("tx_hash", "log_index", "block_number", "block_hash", "payload", "occurred_at"),
)
HEADS = (
    *("mandate_id", "status", "paused", "cash_usdc_e6", "deposited_usdc_e6", "spent_usdc_e6"),
    *("received_usdc_e6", "withdrawn_usdc_e6", "paid_out_usdc_e6"),
)
BALANCES = tuple(
    name
    for name in (column.name for column in TransferBalance.__table__.columns)
    if not name.startswith("updated")
)


@dataclass(frozen=True, slots=True)
class CatchUp:
    original: str
    restored: str
    stack: Stack
    say: Callable[[str], None]

    def run(self, within_s: float) -> None:
        """Errors: StepFailedError when they differ, or do not come to one block in time."""
        ends = time.monotonic() + within_s
        began = time.monotonic()
        before = self._height(self.restored)
        child = Child(
            "indexer of the restored",
            [sys.executable, "-m", "indexer.main"],
            self.stack.children["indexer"].environment
            | {"DATABASE_URL": self.restored, "INDEXER_METRICS_PORT": "0"},
            self.stack.directory / "logs" / "restored-indexer.log",
            self.stack.show,
        )
        child.start()
        try:
            while self._place(self.restored) != self._place(self.original):
                if not child.is_running() or time.monotonic() > ends:
                    raise StepFailedError(f"it does not catch up: {child.last_lines()}")
                time.sleep(0.1)
            self._same(ends)
        finally:
            child.stop()
        after = self._height(self.restored)
        self.say(f"blocks {before + 1} to {after} read in {time.monotonic() - began:.1f} s")
        self._say_lost()

    def _same(self, ends: float) -> None:
        """What is owed to a block (reasons of reverted calls, notes) is written a moment after it."""
        while True:
            wrong = self._differing()
            if not wrong:
                return
            if time.monotonic() > ends:
                raise StepFailedError("; ".join(wrong))
            time.sleep(0.2)

    def _differing(self) -> list[str]:
        wrong = []
        with digests.connected(self.original) as ours, digests.connected(self.restored) as theirs:
            for name, query in _queries().items():
                one, other = _rows(ours, query), _rows(theirs, query)
                if one != other:
                    wrong.append(
                        f"{name}: {len(one - other)} rows of the original are not in the restored, "
                        f"{len(other - one)} of the restored not in the original"
                    )
                elif not wrong and name in ("logs", "rows of ledgers"):
                    self.say(f"{name}: {len(one):,} in both, equal")
        return wrong

    def _place(self, url: str) -> set[str]:
        """Up to which block it has read; what is final follows when the chain goes on."""
        cursor = Base.metadata.tables[ChainCursor.__tablename__]
        with digests.connected(url) as connection:
            query = select(cursor.c.number, cursor.c.hash).where(cursor.c.name == TIP)
            return _rows(connection, query)

    def _height(self, url: str) -> int:
        with digests.connected(url) as connection:
            query = select(LIVE["chain_block"].c.number).order_by(
                LIVE["chain_block"].c.number.desc()
            )
            return int(connection.execute(query.limit(1)).scalar_one())

    def _say_lost(self) -> None:
        """What the chain does not have, and was written after the point, is gone: so many rows."""
        names = (
            "mandate",
            "mandate_event",
            "credit_entry",
            "agent_policy_change",
            "idempotency_record",
        )
        with digests.connected(self.original) as ours, digests.connected(self.restored) as theirs:
            one, other = digests.digests(ours, names), digests.digests(theirs, names)
        lost = {name: one[name].rows - other[name].rows for name in names}
        told = ", ".join(f"{name} {count}" for name, count in lost.items() if count)
        self.say(f"of no chain, so gone with the point in time: {told or 'nothing'}")


def _queries() -> dict[str, Select[Any]]:
    events, heads, balances = (
        Base.metadata.tables[table.__tablename__]
        for table in (MandateEvent, MandateHead, TransferBalance)
    )
    return {
        **{name: canonical_rows(part, LIVE, CHAIN_ID) for name, part in PARTS.items()},
        "rows of ledgers": select(*(events.c[name] for name in EVENTS)).where(
            events.c.block_number.is_not(None)
        ),
        "heads of ledgers": select(*(heads.c[name] for name in HEADS)),
        "balances": select(*(balances.c[name] for name in BALANCES)),
    }


def _rows(connection: Connection, query: Select[Any]) -> set[str]:
    return {repr(tuple(row)) for row in connection.execute(query)}
