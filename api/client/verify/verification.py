"""The order of the checks: the file by itself, then terms, chain, rows, reverted calls and sums.

What one part cannot check is reported and does not end the others; a part that needs it is then not
checked either.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from api.client.verify.anchors_check import check_anchors
from api.client.verify.authors_check import check_authors
from api.client.verify.claims import compare_claims, newest_measure, report_stops
from api.client.verify.end_check import check_rows_after, judge_ahead, later_logs
from api.client.verify.expected import ChainLogs, Expected, chain_logs, expected_rows
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.flags_check import FlagsCheck
from api.client.verify.log_head_check import check_log_head
from api.client.verify.lost_check import check_lost
from api.client.verify.node import Advance, Block, Node
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
from core.chain.blocks import TransactionReceipt
from core.chain.nodes import Nodes
from core.hexes import checksum_address
from core.mandate.rules.record import HELD_KEY, totals_of
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.violations import spend_window
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
    advance: Advance = lambda part, done, of: None,
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
    node = Node(rpcs, subject.factory, advance, report, most_calls)
    check = _Chain(record, subject, node, options, report)
    if check.short is not None:
        report.unchecked.append(check.short.reason)
    report.is_paper = subject.is_paper
    with _part(report):
        check.terms()
    with _part(report):
        check.other_terms()
    with _part(report):
        check_authors(subject, record.rows, node, report)
    # the one that the reader names, else that of the published deployment
    anchor = options.anchor or next(iter(pinned("record_anchor", subject.chain_id)), None)
    with _part(report):
        check_anchors(record, node, anchor, report)
    if subject.is_paper:
        with _part(report):
            check_paper(record, subject, report)
    elif check.vault is not None:
        with _part(report):
            check.logs_and_rows(check.vault)
        with _part(report):
            check.later(check.vault)
        if check.last is not None:
            with _part(report):
                check_rows_after(record.rows, check.last, node)
    if check.has_looked or not report.unchecked:
        report.claims = [row.seq for row in record.rows if row.seq not in check.proven]
    return report


def _say_subject(
    record: RecordFile, subject: RecordSubject, options: Options, report: Report
) -> None:
    """What the record is about; and against what the reader wanted."""
    as_of = record.as_of or {"block_number": None, "block_hash": None}
    report.subject = {
        "chain": subject.chain_id,
        "mandate": subject.terms.public_id,
        "owner": subject.terms.owner,
        "agent": subject.terms.agent,
        "vault": subject.vault_said,
        "factory": subject.factory,
        "as_of_block": as_of["block_number"],
        "as_of_hash": as_of["block_hash"],
        "as_of_age_s": None,
    }
    if options.mandate is not None and options.mandate != subject.terms.public_id:
        text = f"the record is of {subject.terms.public_id}, asked for was {options.mandate}"
        report.say("subject.mandate", None, text)
    if options.owner is not None and options.owner != subject.terms.owner:
        text = f"the record's owner is {subject.terms.owner}, asked for was {options.owner}"
        report.say("subject.owner", None, text)
    if options.as_of is not None and options.as_of != as_of["block_number"]:
        text = f"the record ends at block {as_of['block_number']}, not at {options.as_of}"
        report.say("head.block", None, text)


@contextmanager
def _part(report: Report) -> Iterator[None]:
    """What is in it and cannot be checked is reported, and ends nothing else."""
    try:
        yield
    except UncheckedError as error:
        report.unchecked.append(str(error))


@dataclass
class _Chain:
    """What is compared with the chain. `vault` and `last` fill in as they become known; `has_looked`:
    it is known which rows the chain proves.
    """

    record: RecordFile
    subject: RecordSubject
    node: Node
    options: Options
    report: Report
    vault: str | None = None
    last: Block | None = None
    reverts: RevertsCheck | None = None
    has_vault: bool = False
    proven: set[int] = field(default_factory=set)
    has_looked: bool = False

    def __post_init__(self) -> None:
        held = None if self.record.head is None else self.record.head.get(HELD_KEY)
        self.short = None if held is None else ShortLedger.of_json(held)
        named = self.options.factory
        self.factories = pinned("factory", self.subject.chain_id) + (
            () if named is None else (checksum_address(named),)
        )

    def terms(self) -> None:
        first, rows, report = self.record.first or {}, self.record.rows, self.report
        vault = self.vault = check_place(self.subject, self.node, self.factories, report)
        report.subject["vault"] = vault
        self.has_vault = vault is not None and self._has_code(vault)
        signed = {row.seq for row in rows if row.base_key == "signed"}
        with _part(report):
            if check_signature(
                self.subject,
                first.get("signature"),
                is_signed=bool(signed),
                has_vault=self.has_vault,
                node=self.node,
                report=report,
            ):
                self.proven |= signed
        if self.has_vault and self.subject.is_paper:
            text = f"the record says paper, these terms have a vault at {vault}"
            report.say("terms.vault", None, text)
        self.has_looked = vault is None or self.subject.is_paper

    def other_terms(self) -> None:
        if self.vault is not None:
            check_other_terms(
                self.subject,
                factories=self.factories,
                has_vault=self.has_vault,
                is_named=self.options.mandate is not None,
                node=self.node,
                report=self.report,
            )

    def logs_and_rows(self, vault: str) -> None:
        """Everything that the chain says of the rows."""
        subject, rows, node, report = self.subject, self.record.rows, self.node, self.report
        until = self._last_height()
        last = self.last = self._last_block(until)
        if last is None:
            return
        if self.record.as_of is None:
            report.unchecked.append("head: the record names no block that it is complete up to")
        now = self.options.now
        report.subject |= {
            "as_of_block": until,
            "as_of_hash": last.hash,
            "as_of_age_s": None if now is None else max(0, now - last.at),
        }
        known = pinned("x402_adapter", subject.chain_id)
        adapter = payment_adapter(subject, self.options.x402_adapter, known, report)
        found = chain_logs(subject, vault, adapter, node, self._first_height(until), last)
        expected, blocks = self._expected(found, until)
        has_vault = self._has_vault(vault, expected, until)
        outcomes = self._outcomes(expected)
        checked = RowsCheck(subject, rows, expected, blocks, outcomes, report, self.short)
        checked.run()
        self._proven(checked, blocks)
        self.has_looked = True
        with _part(report):
            check_lost(checked.lost(), checked.returned, node, report)
        with _part(report):
            self._reverts(checked, vault, until)
        failed = {tx_hash for tx_hash, outcome in outcomes.items() if outcome.status == 0}
        compare_claims(rows, expected.rows.values(), failed, vault, report)
        with _part(report):
            self._sums(expected, found, last, has_vault)
        if expected.created is not None:
            with _part(report):
                check_log_head(subject.digest, vault, found.logs, blocks, node, last, report)

    def _expected(self, found: ChainLogs, until: int) -> tuple[Expected, Mapping[int, Block]]:
        """The rows of these logs, and the blocks of all that either names."""
        rows = self.record.rows
        heights = {log.block_number for log in found.logs} | {
            row.block_number for row in rows if row.block_number is not None
        }
        ends = {safe_block_of(row) for row in rows if row.base_key == EXPIRED}
        blocks = self.node.blocks(
            sorted({*heights, *(height for height in ends if height <= until), until})
        )
        return expected_rows(self.subject, found, blocks, rows), blocks

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

    def later(self, vault: str) -> None:
        """Whether there are logs or reverted calls after the record's last block.

        Errors: UncheckedError when so.
        """
        if self.last is None:
            return
        text = later_logs(self.subject, vault, self.last, self.node)
        if text is None:
            if self.reverts is not None and self.options.as_of is None:
                self.reverts.look_after(self.last.number)
            return
        part = f"the record ends at block {self.last.number}"
        if self.options.as_of is None:
            raise UncheckedError(part, f"{text}; export again")
        self.report.remarks.append(f"{part}: {text}")

    def _first_height(self, until: int) -> int:
        """Of the rows of the chain that nothing takes back; `until` without one, and at most."""
        gone = {row.reverses_id for row in self.record.rows}
        standing = (
            row.block_number
            for row in self.record.rows
            if row.block_number is not None and row.reverses_id is None and row.seq not in gone
        )
        return min((*standing, until))

    def _last_height(self) -> int:
        """Up to where the record claims to be complete; without a claim, up to its newest row."""
        if self.record.as_of is not None:
            return int(self.record.as_of["block_number"])
        named = [row.block_number for row in self.record.rows if row.block_number is not None]
        return max(named) if named else self.node.newest()

    def _last_block(self, number: int) -> Block | None:
        if (newest := self.node.newest()) < number:
            judge_ahead(number, newest, self.options.now, self.node, self.report)
            raise UncheckedError("the newest block", f"a node has no more than block {newest} yet")
        block = self.node.blocks([number]).get(number)
        stated = None if self.record.as_of is None else self.record.as_of["block_hash"]
        if block is None or (stated is not None and stated != block.hash):
            has = block.hash if block else "none"
            text = f"the record is of block {number} {stated}, the node has {has}"
            self.report.say("head.block", None, text)
        return block

    def _outcomes(self, expected: Expected) -> dict[str, TransactionReceipt]:
        """Receipts of every transaction that a row of the chain names."""
        wanted: dict[str, set[int]] = {}
        for row in self.record.rows:
            if row.tx_hash is not None and row.block_hash is not None:
                indices = wanted.setdefault(row.tx_hash, set())
                indices |= set() if row.log_index is None else {row.log_index}
        self.report.figures["transactions"] = len(wanted)
        return self.node.outcomes(wanted, expected.log_of)

    def _has_code(self, address: str, at: int | str = "latest") -> bool:
        return bool(
            self.node.ask("the vault's code", lambda: self.node.reader.code_at(address, at))
        )

    def _has_vault(self, vault: str, expected: Expected, until: int) -> bool:
        """Whether there is a vault at the record's last block.

        Past state is asked for only when a vault came, and not in the rows.
        """
        if expected.created is not None:
            compare_created(self.subject, expected.created, self.report)
            return True
        if not self._has_code(vault) or not self._has_code(vault, until):
            return False
        text = f"the vault {vault} exists, and the record does not reach back to its creation"
        self.report.say("row.left_out", None, text)
        return True

    def _reverts(self, checked: RowsCheck, vault: str, until: int) -> None:
        reverts = RevertsCheck(checked, vault, self.node, self.report, self.options.scan)
        reverts.check_reported()
        self.proven |= reverts.proven
        if checked.expected.created is None:
            return
        if self.short is None:
            self.reverts = reverts
        else:
            until = min(until, self.short.from_block - 1)
        as_of = self.record.as_of  # up to where the record claims to report reverted calls
        reported_until = until if as_of is None else min(until, int(as_of["reverts_block_number"]))
        reverts.look(until, reported_until)

    def _sums(self, expected: Expected, found: ChainLogs, last: Block, has_vault: bool) -> None:
        rows, facts, report = self.record.rows, self.subject.facts, self.report
        flags = FlagsCheck(self.subject, rows, expected.rows, last.at, report)
        state = fold_rows(rows, expected.rows, facts, report, flags.before)
        with _part(report):
            flags.end()
        if self.record.head is not None:
            compare_head(self.record.head, state, report)
        counted, proven = proven_state(rows, self.proven, state, facts)
        window = spend_window(counted, facts)
        report.figures |= totals_of(proven)
        report_stops(counted, report)
        if (mark := newest_measure(counted)) is not None:
            report.figures["newest_mark"] = mark
        about = (window, last.at, last.number, self.short)
        report.shown = shown(self.subject, counted, proven, *about)
        if not has_vault:
            is_said = any("terms_cancelled" in row.payload for row in counted)
            check_cancelled(self.subject, is_said, self.node, last, report)
            return
        if self.short is not None:
            return  # the sums of a record with a gap are not the vault's
        from_logs = None if rows else list[LedgerRow]()
        compare_replay(state, replay_logs(expected.rows.values(), facts, from_logs), report)
        if len(counted) < len(rows) or from_logs:
            window = spend_window(from_logs or rows, facts)
        with _part(report):
            compare_vault(self.subject, found, state, window, self.node, last, report)
