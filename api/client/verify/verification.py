"""The order of the checks: the file by itself, then terms, chain, rows, reverted calls and sums.

What one part cannot check is told and does not end the others; a part that needs it is then not
checked either.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.client.verify.anchors_check import check_anchors
from api.client.verify.authors_check import check_authors
from api.client.verify.claims import claims_of, compare_claims, newest_measure, tell_stops
from api.client.verify.end_check import check_rows_after, judge_ahead, later_logs
from api.client.verify.expected import ChainLogs, Expected, chain_logs, expected_rows
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.flags_check import FlagsCheck
from api.client.verify.log_head_check import check_log_head
from api.client.verify.lost_check import check_lost
from api.client.verify.node import Block, Node, Tell, TransactionOutcome
from api.client.verify.paper_check import check_paper
from api.client.verify.reading import RecordFile, read_record
from api.client.verify.replay import (
    compare_head,
    compare_replay,
    compare_vault,
    fold_rows,
    proven_state,
    replay_logs,
)
from api.client.verify.reverts_check import RevertsCheck, Scan
from api.client.verify.row_forms import EXPIRED, safe_block_of
from api.client.verify.rows_check import RowsCheck
from api.client.verify.shown import shown
from api.client.verify.terms_check import (
    RecordSubject,
    check_cancelled,
    check_other_terms,
    check_place,
    check_signature,
    compare_created,
    payment_adapter,
    subject_of,
)
from api.client.verify.trusted import pinned
from core.chain.nodes import Nodes
from core.hexes import checksum_address
from core.mandate.rules.outflows import spend_window
from core.mandate.rules.record_file import HELD_KEY, totals_of
from core.mandate.rules.rows import LedgerRow
from core.quarantine.rules import ShortLedger

# what a record may cost by default: so many calls of a node, and so many more for each of its rows
CALLS_A_RECORD, CALLS_A_ROW = 20_000, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`factory`, `x402_adapter`, `anchor`: the addresses that the verifier trusts beside those of the
    published deployments (trusted.py). `now`: unix seconds, for the age of the record.

    `mandate`, `owner`: what the record must be about. `as_of`: the block that it is known to end
    at. `most_calls`: of the nodes, together.
    """

    now: int | None = None
    factory: str | None = None
    x402_adapter: str | None = None
    mandate: str | None = None
    owner: str | None = None
    as_of: int | None = None
    scan: Scan = Scan.AUTO
    most_calls: int | None = None
    anchor: str | None = None


def verify(
    lines: Iterable[bytes],
    rpcs: Sequence[Nodes],
    options: Options,
    tell: Tell,
    report: Report | None = None,
) -> Report:
    """Check a record, into `report` if one is given: what was found stays there whatever happens
    afterwards.

    `rpcs`: the nodes, each asked for everything.
    """
    report = Report() if report is None else report
    record = read_record(lines, report)
    report.figures["rows"] = len(record.rows)
    subject = None if record.first is None else subject_of(record.first, report)
    if record.first is None or subject is None:
        return report
    _say_subject(record, subject, options, report)
    most_calls = options.most_calls or CALLS_A_RECORD + CALLS_A_ROW * len(record.rows)
    node = Node(rpcs, subject.factory, tell, report, most_calls)
    check = _Chain(record, subject, node, options, report)
    if check.short is not None:
        report.unchecked.append(check.short.reason)
    report.is_paper = subject.is_paper
    _part(report, check.terms)
    _part(report, check.other_terms)
    _part(report, lambda: check_authors(subject, record.rows, node, report))
    # the one that the reader names, else that of the published deployment
    anchor = options.anchor or next(iter(pinned("record_anchor", subject.chain_id)), None)
    _part(report, lambda: check_anchors(record, node, anchor, report))
    if check.vault is not None and not subject.is_paper:
        _part(report, check.logs_and_rows)
        _part(report, check.later)
        _part(report, check.rows_after)
    elif subject.is_paper:
        _part(report, lambda: check_paper(record, subject, report))
    if check.has_looked or not report.unchecked:
        report.claims = claims_of(record.rows, check.proven)
    return report


def _say_subject(
    record: RecordFile, subject: RecordSubject, options: Options, report: Report
) -> None:
    """What the record is about; and against what the reader wanted."""
    as_of = record.as_of
    report.subject = {
        "chain": subject.chain_id,
        "mandate": subject.terms.public_id,
        "owner": subject.terms.owner,
        "agent": subject.terms.agent,
        "vault": subject.vault_said,
        "factory": subject.factory,
        "as_of_block": None if as_of is None else as_of["block_number"],
        "as_of_hash": None if as_of is None else as_of["block_hash"],
        "as_of_age_s": None,
    }
    if options.mandate is not None and options.mandate != subject.terms.public_id:
        text = f"the record is of {subject.terms.public_id}, asked for was {options.mandate}"
        report.say("subject.mandate", None, text)
    if options.owner is not None and options.owner != subject.terms.owner:
        text = f"the record's owner is {subject.terms.owner}, asked for was {options.owner}"
        report.say("subject.owner", None, text)
    if options.as_of is not None and (as_of is None or options.as_of != as_of["block_number"]):
        said = None if as_of is None else as_of["block_number"]
        report.say("head.block", None, f"the record ends at block {said}, not at {options.as_of}")


def _part(report: Report, check: Callable[[], None]) -> None:
    try:
        check()
    except UncheckedError as error:
        report.unchecked.append(str(error))


class _Chain:
    """What is compared with the chain. `vault` and `last` fill in as they become known; `has_looked`:
    it is known which rows the chain proves.
    """

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
        self.reverts: RevertsCheck | None = None
        self.has_vault = False
        self.proven: set[int] = set()
        self.has_looked = False
        self.short = (
            None
            if record.head is None or HELD_KEY not in record.head
            else ShortLedger.of_json(record.head[HELD_KEY])
        )

    def terms(self) -> None:
        self.vault = check_place(self.subject, self.node, self._factories(), self.report)
        self.report.subject["vault"] = self.vault
        first = self.record.first or {}
        has_vault = self.has_vault = self.vault is not None and bool(
            self.node.ask("the vault's code", lambda: self.node.reader.code_at(self.vault or ""))
        )
        signed = [row.seq for row in self.record.rows if row.base_key == "signed"]
        _part(self.report, lambda: self._signed(first.get("signature"), signed, has_vault))
        if has_vault and self.subject.is_paper:
            text = f"the record says paper, these terms have a vault at {self.vault}"
            self.report.say("terms.vault", None, text)
        self.has_looked = self.vault is None or self.subject.is_paper

    def _factories(self) -> tuple[str, ...]:
        """Those that are trusted."""
        named = self.options.factory
        return pinned("factory", self.subject.chain_id) + (
            () if named is None else (checksum_address(named),)
        )

    def other_terms(self) -> None:
        if self.vault is not None:
            is_named = self.options.mandate is not None
            check_other_terms(
                self.subject,
                factories=self._factories(),
                has_vault=self.has_vault,
                is_named=is_named,
                node=self.node,
                report=self.report,
            )

    def _signed(self, signature: str | None, signed: list[int], has_vault: bool) -> None:
        if check_signature(
            self.subject,
            signature,
            is_signed=bool(signed),
            has_vault=has_vault,
            node=self.node,
            report=self.report,
        ):
            self.proven |= set(signed)

    def logs_and_rows(self) -> None:
        """Everything that the chain says of the rows."""
        until = self._last_height()
        gone = {row.reverses_id for row in self.record.rows}
        standing = [
            row.block_number
            for row in self.record.rows
            if row.block_number is not None and row.reverses_id is None and row.seq not in gone
        ]
        first = min(standing, default=until)
        self.last = self._last_block(until)
        if self.last is None or self.vault is None:
            return
        if self.record.as_of is None:
            self.report.unchecked.append(
                "head: the record names no block that it is complete up to"
            )
        self.report.subject |= {
            "as_of_block": until,
            "as_of_hash": self.last.hash,
            "as_of_age_s": None
            if self.options.now is None
            else max(0, self.options.now - self.last.at),
        }
        x402_adapter = payment_adapter(
            self.subject,
            self.options.x402_adapter,
            pinned("x402_adapter", self.subject.chain_id),
            self.report,
        )
        found = chain_logs(
            self.subject, self.vault, x402_adapter, self.node, min(first, until), self.last
        )
        heights = {log.block_number for log in found.logs} | {
            row.block_number for row in self.record.rows if row.block_number is not None
        }
        ends = {
            height
            for row in self.record.rows
            if row.base_key == EXPIRED and (height := safe_block_of(row)) <= until
        }
        blocks = self.node.blocks(sorted({*heights, *ends, until}))
        expected = expected_rows(self.subject, found, blocks, self.record.rows)
        has_vault = self._has_vault(expected, until)
        checked = RowsCheck(
            self.subject,
            self.record.rows,
            expected,
            blocks,
            self._outcomes(expected),
            self.report,
            self.short,
        )
        checked.run()
        self._proven(checked, blocks)
        self.has_looked = True
        _part(
            self.report,
            lambda: check_lost(checked.lost(), checked.returned, self.node, self.report),
        )
        _part(self.report, lambda: self._reverts(checked, until))
        failed = {tx_hash for tx_hash, outcome in checked.outcomes.items() if outcome.status == 0}
        compare_claims(self.record.rows, expected.rows.values(), failed, self.vault, self.report)
        _part(self.report, lambda: self._sums(expected, found, has_vault))

        last = self.last
        if expected.created is not None:
            about = (self.subject.digest, found.vault, found.logs, blocks)
            _part(self.report, lambda: check_log_head(*about, self.node, last, self.report))

    def rows_after(self) -> None:
        if self.last is not None:
            check_rows_after(self.record.rows, self.last, self.node)

    def _proven(self, checked: RowsCheck, blocks: Mapping[int, Block]) -> None:
        """Rows that logs give, the signature of a vault's terms, and the end of terms by a block's
        time.
        """
        self.proven |= checked.proven
        created = checked.expected.created
        for row in self.record.rows:
            if row.base_key == "signed" and created is not None:
                self.proven.add(row.seq)
            if row.base_key == EXPIRED:
                block = blocks.get(safe_block_of(row))
                if created is None and block and block.at >= self.subject.terms.ends_at:
                    self.proven.add(row.seq)
                else:
                    self.report.say("row.unproven", row.seq, "no block shows that the terms ended")

    def later(self) -> None:
        """Whether there are logs or reverted calls after the record's last block.

        Errors: UncheckedError when so.
        """
        if self.last is None or self.vault is None:
            return
        text = later_logs(self.subject, self.vault, self.last, self.node)
        if text is None:
            if self.reverts is not None and self.options.as_of is None:
                self.reverts.look_after(self.last.number)
            return
        if self.options.as_of is not None:
            self.report.remarks.append(f"the record ends at block {self.last.number}: {text}")
            return
        raise UncheckedError(
            f"the record ends at block {self.last.number}", f"{text}; export again"
        )

    def _last_height(self) -> int:
        """Up to where the record claims to be complete; without a claim, up to its newest row."""
        if self.record.as_of is not None:
            return int(self.record.as_of["block_number"])
        newest = self.node.newest()
        return max(
            (row.block_number for row in self.record.rows if row.block_number is not None),
            default=newest,
        )

    def _last_block(self, number: int) -> Block | None:
        if (newest := self.node.newest()) < number:
            judge_ahead(number, newest, self.options.now, self.node, self.report)
            raise UncheckedError("the newest block", f"a node has no more than block {newest} yet")
        block = self.node.blocks([number]).get(number)
        as_of = self.record.as_of
        said = None if as_of is None else as_of["block_hash"]
        if block is None or (said is not None and said != block.hash):
            self.report.say(
                "head.block",
                None,
                f"the record is of block {number} {said}, the node has "
                f"{block.hash if block else 'none'}",
            )
        return block

    def _outcomes(self, expected: Expected) -> dict[str, TransactionOutcome]:
        """Receipts of every transaction that a row of the chain names."""
        wanted: dict[str, set[int]] = {}
        for row in self.record.rows:
            if row.tx_hash is not None and row.block_hash is not None:
                indices = wanted.setdefault(row.tx_hash, set())
                indices |= set() if row.log_index is None else {row.log_index}
        self.report.figures["transactions"] = len(wanted)
        return self.node.outcomes(wanted, expected.log_of)

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
        text = f"the vault {vault} exists, and the record does not reach back to its creation"
        self.report.say("row.left_out", None, text)
        return True

    def _reverts(self, checked: RowsCheck, until: int) -> None:
        assert self.vault is not None
        reverts = RevertsCheck(checked, self.vault, self.node, self.report, self.options.scan)
        reverts.told()
        self.proven |= reverts.proven
        if checked.expected.created is None:
            return
        self.reverts = reverts if self.short is None else None
        until = until if self.short is None else min(until, self.short.from_block - 1)
        as_of = self.record.as_of  # up to where the record claims to tell of reverted calls
        told_until = until if as_of is None else min(until, int(as_of["reverts_block_number"]))
        reverts.look(until, told_until)

    def _sums(self, expected: Expected, found: ChainLogs, has_vault: bool) -> None:
        rows, facts = self.record.rows, self.subject.facts
        until = 0 if self.last is None else self.last.at
        flags = FlagsCheck(self.subject, rows, expected.rows, until, self.report)
        state = fold_rows(rows, expected.rows, facts, self.report, flags.before)
        _part(self.report, flags.end)
        if self.record.head is not None:
            compare_head(self.record.head, state, self.report)
        counted, proven = proven_state(rows, self.proven, state, facts)
        window = spend_window(counted, facts)
        self.report.figures |= totals_of(proven)
        tell_stops(counted, self.report)
        if (mark := newest_measure(counted)) is not None:
            self.report.figures["newest_mark"] = mark
        if self.last is not None:
            last = self.last
            self.report.shown = shown(
                self.subject, counted, proven, window, last.at, last.number, self.short
            )
            is_said = any("terms_cancelled" in row.payload for row in counted)
            if not has_vault:
                check_cancelled(self.subject, is_said, self.node, last, self.report)
        if not has_vault or self.vault is None or self.last is None or self.short is not None:
            return  # the sums of a record with a gap are not the vault's
        from_logs = None if rows else list[LedgerRow]()
        replayed = replay_logs(expected.rows.values(), facts, from_logs)
        compare_replay(state, replayed, self.report)
        if len(counted) < len(rows) or from_logs:
            window = spend_window(from_logs or rows, facts)
        last, vault = self.last, self.vault
        _part(
            self.report,
            lambda: compare_vault(
                self.subject,
                vault,
                state,
                window,
                found.usdc,
                self.node,
                last,
                self.report,
            ),
        )
