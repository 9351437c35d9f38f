"""The service's own flags on reports, judged again: which rules a report broke, and whether the chain
had its transaction.

The judge is the service's (core.mandate.rules.violations) on the state that the rows before give,
and on what those of its own transaction say of the report.
What it went by and no row says is bounded by the rows around the report: the time of the newest
block lies between the last row of the chain before and the next one after. A flag must be what the
judge gives at some time of that range; where the range holds no end of the mandate and no spend that
turns a day old, that is one flag alone.

    chain row            report            chain row
    ----|-------------------|-----------------|----
        earliest ............................ latest       time of the newest block when it was judged
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.row_forms import UNSEEN, VIOLATION
from api.client.verify.terms_check import RecordSubject
from core.canonical import canonical_json
from core.mandate.rules.positions import position_of
from core.mandate.rules.record import authored_payload
from core.mandate.rules.reports import TxFacts, chain_word, moves_worth
from core.mandate.rules.rows import TRADES, LedgerRow, NewRow, RowKind
from core.mandate.rules.state import MandateState
from core.mandate.rules.violations import Judgement, Outflow, ReportedAction, judge, outflows
from core.times import DAY_S

# rows of days that may be looked at for all reports together; more are not judged
MOST_LOOKED_AT: Final = 5_000_000
# by how much a fact of the chain must come late to have been missing when a report was judged
LATE: Final = timedelta(minutes=1)
MOST_TIMES: Final = 200  # at which one report is judged
_SPENDS: Final = (RowKind.MOVE, RowKind.BUY)


class FlagsCheck:
    """`before` is called with every row, oldest first, and the state before it."""

    def __init__(
        self,
        subject: RecordSubject,
        rows: Sequence[LedgerRow],
        expected: Mapping[str, NewRow],
        until: int,
        report: Report,
    ) -> None:
        """`until`: the time of the record's last block, unix seconds; of paper nothing is asked."""
        self.subject = subject
        self.expected = expected
        self.report = report
        self.until = until
        self.unjudged: UncheckedError | None = None
        self.looked_at = 0
        self.earliest = 0
        self.spends: dict[int, LedgerRow] = {}
        # of transactions that reports name: the chain's rows that count so far, by seq
        self.shown: dict[str, dict[int, LedgerRow]] = {
            row.tx_hash: {} for row in rows if _is_report(row) and row.tx_hash is not None
        }
        self.reports = sum(map(_is_report, rows))  # that are still to come
        self.on_chain = _ChainTimes(rows if self.reports else (), expected)
        self.allowed = frozenset(rule.target.lower() for rule in subject.rules)

    def end(self) -> None:
        """Errors: UncheckedError when not every report could be judged."""
        if self.unjudged is not None:
            raise self.unjudged

    def before(self, row: LedgerRow, state: MandateState) -> None:
        if not self.reports:
            return  # nothing is asked of it any more
        if row.reverses_id is not None:
            self.spends.pop(row.reverses_id, None)
            self.shown.get(row.tx_hash or "", {}).pop(row.reverses_id, None)
            return
        if _is_report(row):
            self.reports -= 1
            self._unseen(row, state.vault_address)
            try:
                self._judge(row, state)
            except UncheckedError as error:
                self.unjudged = self.unjudged or error
        if row.base_key in self.expected and not self.subject.is_paper:
            self.earliest = max(self.earliest, _second(row))
        if row.tx_hash in self.shown and not _is_report(row):
            self.shown[row.tx_hash][row.seq] = row
        if row.kind in _SPENDS:
            self.spends[row.seq] = row

    def _judge(self, row: LedgerRow, state: MandateState) -> None:
        if row.kind not in TRADES:
            self._compare(row, [None])
            return
        wanted, against = [], self._judgement(row, state)
        # what was judged: `why` was no part of it, and none of what it reads
        action = ReportedAction(
            kind=row.kind,
            amount_usdc_e6=row.amount_usdc_e6,
            tx_hash=row.tx_hash,
            payload=authored_payload(row.payload),
        )
        # a ledger that lacks facts of the chain holds its cash against nobody: then a later row is of
        # a block before the report
        is_late = not self.subject.is_paper and self.on_chain.is_older_after(row)
        for now in self._times(row, against.outflows):
            for is_short in (False, True)[: 2 if is_late else 1]:
                flag = judge(action, replace(against, now=now, is_short=is_short))
                wanted.append(None if flag is None else flag.as_json())
        self._compare(row, wanted)

    def _compare(self, row: LedgerRow, wanted: Sequence[Any]) -> None:
        """`wanted`: flags of which one must stand there; None: no flag."""
        stated = [row.payload[VIOLATION]] if VIOLATION in row.payload else []
        given = [canonical_json([] if flag is None else [flag]) for flag in wanted]
        if canonical_json(stated) not in given:
            text = f"says it broke {_codes(*stated)}, it broke {_codes(wanted[0])}"
            self.report.say("row.flag", row.seq, text)

    def _judgement(self, row: LedgerRow, state: MandateState) -> Judgement:
        vault = {state.vault_address.lower()} if state.vault_address else set[str]()
        return Judgement(
            status=state.status,
            was_stopped=state.stopped_at is not None,
            terms=self.subject.terms,
            chain_id=self.subject.chain_id,
            allowed=self.allowed | vault,
            cash_usdc_e6=state.cash_usdc_e6,
            outflows=self._outflows(row),
            now=0,
            word=chain_word(_unflagged(row), self._facts(row), state.vault_address),
        )

    def _facts(self, report: LedgerRow, since: datetime | None = None) -> TxFacts:
        """What the rows before say of a report's transaction; those that came until `since`."""
        rows = self.shown.get(report.tx_hash or "", {}).values()
        return TxFacts.of(row for row in rows if since is None or row.created_at <= since)

    def _outflows(self, row: LedgerRow) -> tuple[Outflow, ...]:
        """Of the day before the earliest time that it may have been judged at."""
        since = (_second(row) if self.subject.is_paper else self.earliest) - DAY_S
        self._forget(since)
        self.looked_at += len(self.spends)
        if self.looked_at > MOST_LOOKED_AT:
            raise UncheckedError("flags of reports", "too many reports for their days")
        return outflows(self.spends.values(), self.subject.facts)

    def _forget(self, since: int) -> None:
        """Spends that are too old for every later report."""
        while self.spends:
            seq, row = next(iter(self.spends.items()))
            if _second(row) >= since:
                return
            del self.spends[seq]

    def _times(self, row: LedgerRow, spends: Sequence[Outflow]) -> list[int]:
        """Every time of the range at which the answer may change, the earliest first."""
        if self.subject.is_paper:
            return [_second(row)]
        first = self.earliest
        last = max(first, self.on_chain.next_after(row.seq, self.until))
        turns = {at for one in spends for at in (one.at, one.at + DAY_S)}
        inside = sorted(at for at in turns | {self.subject.terms.ends_at} if first < at <= last)
        if len(inside) > MOST_TIMES:
            raise UncheckedError("flags of reports", f"row {row.seq} may be of too many times")
        return [first, *inside, last]

    def _unseen(self, row: LedgerRow, vault: str | None) -> None:
        """The flag of a report of a position that the chain does not bear out: a trade without a
        transaction has it, and one that rows which were there already contradict. Whether the chain
        had a transaction that no row showed, nobody can tell afterwards.
        """
        is_of_position = (
            not self.subject.is_paper and position_of(authored_payload(row.payload)) is not None
        )
        must_be = may_be = is_of_position and row.tx_hash is None and row.kind in TRADES
        if is_of_position and row.tx_hash is not None and row.kind in (*TRADES, RowKind.RESOLVE):
            early = self._facts(row, row.created_at - LATE)
            was_shown, is_shown = (
                moves_worth(_unflagged(row), facts, vault) for facts in (early, self._facts(row))
            )
            must_be, may_be = early.is_known and not (was_shown or is_shown), not was_shown
        flag = row.payload.get(UNSEEN) is True
        if flag is not (UNSEEN in row.payload) or (flag and not may_be) or (must_be and not flag):
            self.report.say("row.flag", row.seq, "is wrong about what the chain has not seen")


class _ChainTimes:
    """Times of the rows of logs by seq, notes of the factory apart: those have an order of their
    own.
    """

    def __init__(self, rows: Sequence[LedgerRow], expected: Mapping[str, NewRow]) -> None:
        gone = {row.reverses_id for row in rows if row.reverses_id is not None}
        standing = [
            row
            for row in rows
            if row.base_key in expected
            and row.seq not in gone
            and row.payload.get("factory") is not True
        ]
        self.seqs = [row.seq for row in standing]
        self.times = [_second(row) for row in standing]
        self.least_after: list[int] = []
        for at in reversed(self.times):
            self.least_after.append(min(at, self.least_after[-1]) if self.least_after else at)
        self.least_after.reverse()

    def next_after(self, seq: int, otherwise: int) -> int:
        index = bisect_right(self.seqs, seq)
        return self.times[index] if index < len(self.times) else otherwise

    def is_older_after(self, row: LedgerRow) -> bool:
        index = bisect_right(self.seqs, row.seq)
        if index >= len(self.seqs):
            return False
        return self.least_after[index] < (row.occurred_at - LATE).timestamp()


def _is_report(row: LedgerRow) -> bool:
    return row.reverses_id is None and row.base_key.startswith("report:")


def _unflagged(row: LedgerRow) -> LedgerRow:
    return replace(row, payload=authored_payload(row.payload))


def _codes(flag: object = None) -> str:
    codes = flag.get("codes") if isinstance(flag, Mapping) else None
    return ", ".join(map(str, codes)) if isinstance(codes, list) else "nothing"


def _second(row: LedgerRow) -> int:
    return int(row.occurred_at.timestamp())
