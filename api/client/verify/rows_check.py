"""Each row against what the chain gives; reversals and incarnations against one another.

A row of the chain is judged by the block that it names: in the chain, it must be exactly the
expected row; not in the chain, a later row must take it back. A row without a block is its author's
word, and may move no cash.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from api.client.verify.expected import Expected, has_payload, is_same_row, key_of
from api.client.verify.findings import Report
from api.client.verify.node import Block
from api.client.verify.row_forms import declared, is_stated
from api.client.verify.terms_check import RecordSubject
from core.chain.blocks import RawLog, TransactionReceipt
from core.errors import MandateError
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, reversal_row
from core.quarantine.rules import ShortLedger

# How far the clocks of the service and of the chain may differ.
CLOCKS: Final = timedelta(minutes=15)
# how a draft ends: one of both, whichever row comes first
DRAFT_ENDS: Final = frozenset({"cancelled", "signed"})


@dataclass
class RowsCheck:
    """Goes through the rows once, oldest first. `short`: what the record itself says that it lacks."""

    subject: RecordSubject
    rows: Sequence[LedgerRow]
    expected: Expected
    blocks: Mapping[int, Block]
    outcomes: Mapping[str, TransactionReceipt]
    report: Report
    short: ShortLedger | None = None
    standing: dict[str, LedgerRow] = field(default_factory=dict)
    # of facts that came more than once, or were lost
    incarnations: dict[str, int] = field(default_factory=dict)
    # seqs of rows that were taken back with a block of the chain
    returned: list[int] = field(default_factory=list)
    proven: set[int] = field(default_factory=set)  # seqs of rows that a log gives exactly

    def __post_init__(self) -> None:
        rows = self.rows
        self.reversed_by = {row.reverses_id: row for row in rows if row.reverses_id is not None}
        # for reversals alone
        listed = rows if self.reversed_by else ()
        self.last_of = {row.base_key: row.seq for row in listed if row.reverses_id is None}
        self.by_seq = {row.seq: row for row in listed}

    def run(self) -> None:
        last, last_note = (0, 0), (0, 0)
        for before, row in zip([None, *self.rows], self.rows, strict=False):
            self._written(row, before)
            if not is_stated(row) and self.subject.is_paper:
                self._unproven(row, "a paper mandate has no chain")
                continue
            if row.reverses_id is not None:
                self._reversal(row)
                continue
            self._count(row)
            if row.base_key.startswith("log:"):
                self._log_row(row)
                # written in slices: a ledger may say of later blocks before
                if _is_note(row):
                    last_note = self._in_order(row, last_note)
                else:
                    last = self._in_order(row, last)
            elif is_stated(row):
                self._said(row)
        self._left_out()

    def _written(self, row: LedgerRow, before: LedgerRow | None) -> None:
        """Rows are written one after the other, and after what they report.

        Only the chain's clock is not the service's own.
        """
        if before is not None and row.created_at < before.created_at:
            text = f"at {row.created_at}, row {before.seq} at {before.created_at}"
            self.report.say("row.written", row.seq, text)
        late = CLOCKS if row.block_hash is not None else timedelta()
        if row.created_at + late < row.occurred_at:
            text = f"at {row.created_at}, it reports {row.occurred_at}"
            self.report.say("row.written", row.seq, text)

    def lost(self) -> list[LedgerRow]:
        """Rows that were taken back with their block, which is not in the chain."""
        return [
            row
            for row in self.rows
            if row.seq in self.reversed_by
            and row.block_hash is not None
            and not self.is_canonical(row)
        ]

    def is_canonical(self, row: LedgerRow) -> bool:
        block = self.blocks.get(row.block_number) if row.block_number is not None else None
        return block is not None and block.hash == row.block_hash

    # One fact, one row

    def _count(self, row: LedgerRow) -> None:
        before = self.standing.get(row.base_key)
        if before is not None:
            text = f"{row.base_key} is in row {before.seq} already"
            self.report.say("row.doubled", row.seq, text)
        number = self.incarnations.get(row.base_key, 0 if before is None else 1) + 1
        if number > 1:
            self.incarnations[row.base_key] = number
        if row.incarnation != number:
            text = f"incarnation {row.incarnation}, it is number {number} of {row.base_key}"
            self.report.say("row.incarnation", row.seq, text)
        self.standing[row.base_key] = row
        if (
            row.block_hash is not None
            and not self.is_canonical(row)
            and row.seq not in self.reversed_by
        ):
            text = f"block {row.block_number} {row.block_hash} is not in the chain"
            self.report.say("row.orphaned_block", row.seq, text)

    def _in_order(self, row: LedgerRow, last: tuple[int, int]) -> tuple[int, int]:
        if row.seq in self.reversed_by:
            return last
        place = _order(row)
        if place < last:
            text = f"block {place[0]} log {place[1]} is after block {last[0]} log {last[1]}"
            self.report.say("row.order", row.seq, text)
        return max(place, last)

    # Rows of logs

    def _log_row(self, row: LedgerRow) -> None:
        if row.block_hash is None or row.tx_hash is None or row.log_index is None:
            self._unproven(row, "names no block, transaction or log")
        elif self.is_canonical(row):
            wanted, outcome = self.expected.rows.get(row.base_key), self.outcomes.get(row.tx_hash)
            if (
                wanted is None
                or outcome is None
                or (outcome.status, outcome.block_hash) != (1, row.block_hash)
                # the receipt says the same of this log as the node's answer to the range did
                or _log_of(outcome, row.log_index) != self.expected.logs[row.base_key]
            ):
                self._explain(row)
            else:
                self._compare(row, wanted)

    def _explain(self, row: LedgerRow) -> None:
        """Why the chain gives no such row."""
        outcome = self.outcomes.get(row.tx_hash or "")
        if outcome is None:
            self.report.say("row.transaction", row.seq, f"there is no transaction {row.tx_hash}")
        elif outcome.status != 1:
            self.report.say("row.status", row.seq, f"{row.tx_hash} failed")
        elif outcome.block_hash != row.block_hash:
            text = f"{row.tx_hash} is in block {outcome.block_number} {outcome.block_hash}"
            self.report.say("row.place", row.seq, text)
        elif (log := _log_of(outcome, row.log_index)) is None:
            self.report.say("row.log_index", row.seq, f"{row.tx_hash} has no log {row.log_index}")
        elif key_of(log) != row.base_key:
            text = f"its key is {row.base_key}, its place {key_of(log)}"
            self.report.say("row.place", row.seq, text)
        else:
            text = f"log {log.log_index} is of {log.address} and not of this mandate"
            self.report.say("row.foreign_log", row.seq, text)

    def _compare(self, row: LedgerRow, wanted: NewRow) -> None:
        """Everything but the cash delta, which depends on the rows before (replay.py)."""
        found = len(self.report.findings)
        if row is not wanted:
            self._differences(row, wanted)
        if row.block_hash is not None and found == len(self.report.findings):
            self.proven.add(row.seq)

    def _differences(self, row: LedgerRow, wanted: NewRow) -> None:
        pairs = {
            "row.kind": (row.kind, wanted.kind),
            "row.reported_by": (row.reported_by, wanted.reported_by),
            "row.time": (row.occurred_at, wanted.occurred_at),
            "row.amount": (row.amount_usdc_e6, wanted.amount_usdc_e6),
            "row.place": (_place(row), _place(wanted)),
        }
        for name, (stated, given) in pairs.items():
            if stated != given:
                text = f"the row says {_shown(stated)}, it must be {_shown(given)}"
                self.report.say(name, row.seq, text)
        if row.payload is not wanted.payload and not has_payload(row, wanted.payload):
            text = f"the row says {dict(row.payload)}, it must be {dict(wanted.payload)}"
            self.report.say("row.payload", row.seq, text)

    def _left_out(self) -> None:
        """Logs without a row.

        Those that the record says it holds back are a gap and no difference; one more than it says
        is one.
        """
        left_out = {
            key: wanted
            for key, wanted in self.expected.rows.items()
            if key not in self.standing or not self.is_canonical(self.standing[key])
        }
        held = self._held_among(left_out)
        for key, wanted in left_out.items():
            if key not in held:
                self.report.say(
                    "row.left_out",
                    None,
                    f"{key} in block {wanted.block_number}: {wanted.kind.value} "
                    f"{dict(wanted.payload)}",
                )

    def _held_among(self, left_out: Mapping[str, NewRow]) -> set[str]:
        if self.short is None:
            return set()
        # what follows a fact that is held back queues behind it, notes of the factory apart: a log
        # before one that has its row was not held back, it was dropped
        newest = max(
            (
                _order(row)
                for key, row in self.standing.items()
                if key in self.expected.rows and self.is_canonical(row) and not _is_note(row)
            ),
            default=(0, 0),
        )
        held = {
            key
            for key, wanted in left_out.items()
            if (wanted.block_number or 0) >= self.short.from_block
            and (_is_note(wanted) or _order(wanted) > newest)
        }
        return held if len(held) <= self.short.facts else set()

    # Rows that somebody said

    def _said(self, row: LedgerRow) -> None:
        """A row of somebody's word: exactly as its writer writes it, and of no block."""
        try:
            wanted = declared(row, self.subject)
        except MandateError as error:
            self.report.say("row.payload", row.seq, f"{row.base_key}: {error}")
            return
        if wanted is None or (
            row.reported_by is ReportedBy.CHAIN and wanted.reported_by is not ReportedBy.CHAIN
        ):
            self._unproven(row, f"is {row.reported_by.value}'s word alone")
        elif row.base_key in DRAFT_ENDS and self.standing.keys() >= DRAFT_ENDS:
            dropped = self.standing["cancelled"]
            self._unproven(dropped, "only a draft is dropped, and these terms were signed")
        else:
            self._compare(row, wanted)

    def _unproven(self, row: LedgerRow, why: str) -> None:
        self.report.say("row.unproven", row.seq, f"{row.base_key}: {why}")

    # Reversals

    def _reversal(self, row: LedgerRow) -> None:
        target = self.by_seq.get(row.reverses_id or 0)
        if (
            target is None
            or target.seq >= row.seq
            or target.reverses_id is not None
            or self.standing.get(target.base_key) is not target
        ):
            text = f"row {row.reverses_id} is no earlier standing row"
            self.report.say("reversal.target", row.seq, text)
            return
        del self.standing[target.base_key]
        self.incarnations.setdefault(target.base_key, 1)
        mirror = reversal_row(target, row.occurred_at)
        if row.incarnation != target.incarnation or not is_same_row(row, mirror):
            text = f"differs from the mirror of row {target.seq}"
            self.report.say("reversal.content", row.seq, text)
        # it reports the moment in which it is written, by the service's own clock; after that clock
        # was set back a ledger goes on with its newest row's time
        if not timedelta() <= row.created_at - row.occurred_at <= CLOCKS:
            text = f"taken back at {row.occurred_at}, written at {row.created_at}"
            self.report.say("row.time", row.seq, text)
        # a block may be lost and found again with the same hash: then its facts return as the next
        # incarnation
        if self.is_canonical(target) and self.last_of[target.base_key] > target.seq:
            self.returned.append(target.seq)
        elif self.is_canonical(target):
            text = f"block {target.block_number} of row {target.seq} is in the chain"
            self.report.say("reversal.without_cause", row.seq, text)
        if target.block_hash is None:
            text = f"row {target.seq} is of no block that could be lost"
            self.report.say("reversal.without_cause", row.seq, text)


def _log_of(outcome: TransactionReceipt, log_index: int | None) -> RawLog | None:
    return next((log for log in outcome.logs if log.log_index == log_index), None)


def _is_note(row: NewRow) -> bool:
    """Whether the factory said it, of all vaults at once."""
    return row.payload.get("factory") is True


def _order(row: NewRow) -> tuple[int, int]:
    return row.block_number or 0, row.log_index or 0


def _place(row: NewRow) -> tuple[object, ...]:
    return row.chain_id, row.tx_hash, row.log_index, row.block_number, row.block_hash, row.base_key


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
