"""The order of the checks: the file by itself, then terms, chain, rows, reverted calls and sums.

What one part cannot check is told and does not end the others; a part that needs it is then not
checked either.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from api.client.verify.expected import ChainLogs, Expected, chain_logs, expected_rows
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.log_head_check import check_log_head
from api.client.verify.node import Block, Node, Tell, TransactionOutcome
from api.client.verify.reading import RecordFile, read_record
from api.client.verify.replay import (
    compare_head,
    compare_replay,
    compare_vault,
    fold_rows,
    replay_logs,
)
from api.client.verify.reverts_check import RevertsCheck
from api.client.verify.rows_check import RowsCheck
from api.client.verify.shown import shown
from api.client.verify.terms_check import (
    RecordSubject,
    check_place,
    check_signature,
    compare_created,
    payment_adapter,
    subject_of,
)
from core.chain.rpc import Rpc
from core.mandate.rules.record_file import HELD_KEY, totals_of
from core.mandate.rules.rows import LedgerRow, ReportedBy
from core.mandate.rules.state import MandateState
from core.quarantine.rules import ShortLedger

MOST_SCANNED_BLOCKS = 50_000


class Scan(StrEnum):
    """Whether every block is looked through for reverted calls that the record leaves out."""

    AUTO = "auto"  # up to MOST_SCANNED_BLOCKS; a longer record then counts as not fully checked
    ALL = "all"
    NONE = "none"  # asked for, so it is told and does not count


@dataclass(frozen=True, slots=True)
class Options:
    """`factory`, `x402_adapter`: the addresses that the verifier trusts.

    `kept_head`: (seq, row hash) written down earlier.
    """

    factory: str | None = None
    x402_adapter: str | None = None
    kept_head: tuple[int, str] | None = None
    scan: Scan = Scan.AUTO


def verify(lines: Iterable[bytes], rpcs: Sequence[Rpc], options: Options, tell: Tell) -> Report:
    """Check a record.

    `rpcs`: the node that is asked, and others that must agree with it on the record's last block.
    """
    report = Report()
    record = read_record(lines, report)
    report.figures["rows"] = len(record.rows)
    subject = None if record.first is None else subject_of(record.first, report)
    if record.first is None or subject is None:
        return report
    _kept_head(record, options, report)
    _claims(record.rows, subject, report)
    node = Node(rpcs[0], subject.factory, tell)
    check = _Chain(record, subject, node, options, report)
    if check.short is not None:
        report.unchecked.append(check.short.reason)
    _part(report, check.terms)
    if check.vault is not None and not subject.is_paper:
        _part(report, check.logs_and_rows)
        _part(report, lambda: _agree(check.last, rpcs[1:], subject.factory, report))
    elif subject.is_paper:
        _paper(record, subject, report)
    return report


def _part(report: Report, check: Callable[[], None]) -> None:
    try:
        check()
    except UncheckedError as error:
        report.unchecked.append(str(error))


class _Chain:
    """What is compared with the chain. `vault` and `last` fill in as they become known."""

    def __init__(
        self,
        record: RecordFile,
        subject: RecordSubject,
        node: Node,
        options: Options,
        report: Report,
    ) -> None:
        self.record = record
        self.subject = subject
        self.node = node
        self.options = options
        self.report = report
        self.vault: str | None = None
        self.last: Block | None = None
        self.short = (
            None
            if record.head is None or HELD_KEY not in record.head
            else ShortLedger.of_json(record.head[HELD_KEY])
        )

    def terms(self) -> None:
        self.vault = check_place(self.subject, self.node, self.options.factory, self.report)
        first = self.record.first or {}
        has_vault = self.vault is not None and bool(
            self.node.ask("the vault's code", lambda: self.node.reader.code_at(self.vault or ""))
        )
        is_signed = any(row.base_key == "signed" for row in self.record.rows) and not has_vault
        check_signature(self.subject, first.get("signature"), is_signed, self.node, self.report)
        if has_vault and self.subject.is_paper:
            self.report.say(
                "terms.vault",
                None,
                f"the record says paper, these terms have a vault at {self.vault}",
            )

    def logs_and_rows(self) -> None:
        """Everything that the chain says of the rows."""
        until = self._last_height()
        first = min(
            (row.block_number for row in self.record.rows if row.block_number is not None),
            default=until,
        )
        self.last = self._last_block(until)
        if self.last is None or self.vault is None:
            return
        x402_adapter = payment_adapter(self.subject, self.options.x402_adapter, self.report)
        found = chain_logs(
            self.subject, self.vault, x402_adapter, self.node, min(first, until), self.last
        )
        heights = {log.block_number for log in found.logs} | {
            row.block_number for row in self.record.rows if row.block_number is not None
        }
        blocks = self.node.blocks(sorted({*heights, until}))
        expected = expected_rows(self.subject, found, blocks)
        has_vault = self._has_vault(expected, until)
        checked = RowsCheck(
            self.subject,
            self.record.rows,
            expected,
            blocks,
            self._outcomes(blocks),
            self.report,
            self.short,
        )
        checked.run()
        _part(self.report, lambda: self._reverts(checked, until))
        self._sums(expected, found, has_vault)
        if expected.created is not None:
            _part(self.report, lambda: self._log_head(found, blocks))

    def _log_head(self, found: ChainLogs, blocks: dict[int, Block]) -> None:
        assert self.last is not None
        check_log_head(
            self.subject.digest, found.vault, found.logs, blocks, self.node, self.last, self.report
        )

    def _last_height(self) -> int:
        """Up to where the record claims to be complete; without a claim, up to its newest row."""
        as_of = None if self.record.head is None else self.record.head["as_of"]
        if isinstance(as_of, dict) and isinstance(as_of.get("block_number"), int):
            return int(as_of["block_number"])
        newest = self.node.ask("the newest block", self.node.reader.block_number)
        return max(
            (row.block_number for row in self.record.rows if row.block_number is not None),
            default=newest,
        )

    def _last_block(self, number: int) -> Block | None:
        block = self.node.blocks([number]).get(number)
        as_of = None if self.record.head is None else self.record.head["as_of"]
        said = as_of.get("block_hash") if isinstance(as_of, dict) else None
        if block is None or (said is not None and said != block.hash):
            self.report.say(
                "head.block",
                None,
                f"the record is of block {number} {said}, the node has "
                f"{block.hash if block else 'none'}",
            )
        return block

    def _outcomes(self, blocks: dict[int, Block]) -> dict[str, TransactionOutcome]:
        """Receipts of every transaction that a row of the chain names."""
        wanted: dict[str, set[int]] = {}
        for row in self.record.rows:
            if row.tx_hash is not None and row.block_hash is not None:
                indices = wanted.setdefault(row.tx_hash, set())
                indices |= set() if row.log_index is None else {row.log_index}
        self.report.figures["transactions"] = len(wanted)
        return self.node.outcomes(wanted)

    def _has_vault(self, expected: Expected, until: int) -> bool:
        """Whether there is a vault at the record's last block.

        Past state is asked for only when a vault came, and not in the rows.
        """
        if expected.created is not None:
            compare_created(self.subject, expected.created, self.report)
            return True
        vault = self.vault or ""
        if not self.node.ask("the vault's code", lambda: self.node.reader.code_at(vault)):
            return False
        if not self.node.ask("the vault's code", lambda: self.node.reader.code_at(vault, until)):
            return False
        self.report.say(
            "row.left_out",
            None,
            f"the vault {vault} exists, and the record does not reach back to its creation",
        )
        return True

    def _reverts(self, checked: RowsCheck, until: int) -> None:
        assert self.vault is not None
        reverts = RevertsCheck(checked, self.vault, self.node, self.report)
        reverts.told()
        first, count = checked.expected.created_block, until - checked.expected.created_block + 1
        if checked.expected.created is None:
            return
        if self.options.scan is Scan.NONE or (
            self.options.scan is Scan.AUTO and count > MOST_SCANNED_BLOCKS
        ):
            text = (
                f"reverted calls that the record leaves out were not looked for in {count} blocks"
            )
            (
                self.report.remarks if self.options.scan is Scan.NONE else self.report.unchecked
            ).append(f"{text} (--scan all)")
            return
        looked_up = self._reverts_until(until)
        reverts.left_out(
            list(self.node.blocks(range(first, looked_up + 1), self.vault).values()), looked_up
        )
        self.report.figures["blocks_scanned"] = max(0, looked_up - first + 1)

    def _reverts_until(self, until: int) -> int:
        as_of: Any = None if self.record.head is None else self.record.head["as_of"]
        said = as_of.get("reverts_block_number") if isinstance(as_of, dict) else until
        if isinstance(said, int) and said < until:
            self.report.remarks.append(
                f"reverted calls are told up to block {said}, logs up to {until}"
            )
        looked_up = min(until, said) if isinstance(said, int) else until
        return looked_up if self.short is None else min(looked_up, self.short.from_block - 1)

    def _sums(self, expected: Expected, found: ChainLogs, has_vault: bool) -> None:
        rows, facts = self.record.rows, self.subject.facts
        state = fold_rows(rows, expected.rows, facts, self.report)
        if self.record.head is not None:
            compare_head(self.record.head, state, self.report)
        _figures(state, self.report)
        if self.last is not None:
            self.report.shown = shown(self.subject, rows, state, self.last.at, self.short)
        if not has_vault or self.vault is None or self.last is None or self.short is not None:
            return  # the sums of a record with a gap are not the vault's
        replayed, from_logs = replay_logs(expected.rows.values(), facts)
        compare_replay(state, replayed, self.report)
        last, vault = self.last, self.vault
        _part(
            self.report,
            lambda: compare_vault(
                self.subject,
                vault,
                state,
                rows or from_logs,
                found.usdc,
                self.node,
                last,
                self.report,
            ),
        )


def _paper(record: RecordFile, subject: RecordSubject, report: Report) -> None:
    """No chain stands behind a paper mandate: its rows are checked against one another alone."""
    RowsCheck(subject, record.rows, Expected(), {}, {}, report).run()
    state = fold_rows(record.rows, {}, subject.facts, report)
    if record.head is not None:
        compare_head(record.head, state, report)
    _figures(state, report)
    if record.rows:
        report.shown = shown(
            subject, record.rows, state, int(record.rows[-1].created_at.timestamp()), None
        )
    report.remarks.append("a paper mandate: no chain stands behind its rows")


def _kept_head(record: RecordFile, options: Options, report: Report) -> None:
    if options.kept_head is None:
        return
    seq, row_hash = options.kept_head
    found = next((row.row_hash for row in record.rows if row.seq == seq), None)
    if found != row_hash:
        report.say("head.kept", seq, f"row {seq} had the hash {row_hash}, here it has {found}")


def _claims(rows: Sequence[LedgerRow], subject: RecordSubject, report: Report) -> None:
    """Rows that their author alone vouches for: reports whose transaction no row of the chain
    shows, and marks off the chain.
    """
    proven = {row.tx_hash for row in rows if row.block_hash is not None and row.reverses_id is None}
    by_agent = (ReportedBy.AGENT, ReportedBy.KEEPER)
    said = [row for row in rows if row.block_hash is None and row.reported_by in by_agent]
    report.claims = [
        row.seq
        for row in said
        if subject.is_paper or row.tx_hash is None or row.tx_hash not in proven
    ]


def _figures(state: MandateState, report: Report) -> None:
    report.figures |= totals_of(state)


def _agree(last: Block | None, others: Sequence[Rpc], factory: str, report: Report) -> None:
    """The other nodes have the same block."""
    for rpc in others:
        node = Node(rpc, factory, lambda part, done, of: None)
        block = None if last is None else node.blocks([last.number]).get(last.number)
        if last is not None and (block is None or block.hash != last.hash):
            report.say(
                "nodes.differ",
                None,
                f"block {last.number} is {last.hash} here, "
                f"{block.hash if block else 'missing'} there",
            )
