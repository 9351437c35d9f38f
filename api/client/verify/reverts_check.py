"""Reverted calls: those that the record reports, and those that it leaves out.

A reverted call leaves no log. What the record reports is checked by receipt and call data, and run
again. What it leaves out shows in the nonces of the vault's agents (nonces.py); on a node that has
none of past blocks only looking through every block finds it, for as many blocks as asked. Those
after the record's last block show likewise, by the nonces there and now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from api.client.verify.expected import is_same_row, shown_row
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block, Node
from api.client.verify.nonces import unexplained_heights
from api.client.verify.rows_check import RowsCheck
from core.chain.abi import decode_revert
from core.chain.blocks import SentCall, TransactionReceipt
from core.mandate.chain.calldata import attempted_of
from core.mandate.rules.new_rows import revert_note
from core.mandate.rules.rows import UNKNOWN, LedgerRow

PART: Final = "reverted calls"
MOST_SCANNED_BLOCKS = 50_000


class Scan(StrEnum):
    """Whether every block is looked through for reverted calls that the record leaves out."""

    AUTO = "auto"  # up to MOST_SCANNED_BLOCKS; a longer record then counts as not fully checked
    ALL = "all"
    NONE = "none"  # asked for, so it is reported and does not count


@dataclass
class RevertsCheck:
    rows: RowsCheck
    vault: str
    node: Node
    report: Report
    scan: Scan
    unexplained: int = 0
    proven: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.expected = self.rows.expected
        self._reports: dict[str, list[int]] = {}
        for one in self.rows.rows:
            if one.base_key.startswith("refusal:"):
                self._reports.setdefault(one.base_key, []).append(one.seq)

    def check_reported(self) -> None:
        """Each note of the record whose block is in the chain."""
        for row in self.rows.rows:
            if not row.base_key.startswith("revert:") or row.reverses_id is not None:
                continue
            if row.block_hash is None or row.block_number is None or row.tx_hash is None:
                text = f"{row.base_key} names no block or transaction"
                self.report.say("row.unproven", row.seq, text)
            elif self.rows.is_canonical(row):
                outcome = self.rows.outcomes.get(row.tx_hash)
                if self._happened(row, outcome):
                    self._content(row, self.rows.blocks[row.block_number])
        if self.unexplained:
            self.report.unchecked.append(
                f"{PART}: why {self.unexplained} of them failed could not be run again and "
                "is the record's word"
            )

    def look(self, until: int, reported_until: int) -> None:
        """Say which reverted calls the record leaves out up to `until`. Those after
        `reported_until` it does not claim to report yet.

        Errors: UncheckedError for such ones, and when there are too many blocks to look through.
        """
        first = self.expected.created_block
        if self.scan is Scan.NONE:
            self.report.remarks.append(
                f"{PART} that the record leaves out were not looked for in "
                f"{until - first + 1} blocks (--scan all)"
            )
            return
        heights = self._where(first, until)
        self.report.figures["blocks_scanned"] = len(heights)
        later = 0
        for number, sent in self._left_out(heights):
            if number > reported_until:
                later += 1
                continue
            text = f"{sent.tx_hash} in block {number} by {sent.sender}"
            self.report.say("revert.left_out", None, text)
        if later:
            raise UncheckedError(
                PART,
                f"the record reports them up to block {reported_until}, and {later} came after; "
                "export it again",
            )

    def look_after(self, last: int) -> None:
        """A record that ends before a reverted call shows none of it, as with logs.

        Errors: UncheckedError when there is one, and when there are too many blocks to look through.
        """
        if self.expected.created is None or self.scan is Scan.NONE:
            return
        after = [number for number, _ in self._left_out(self._where(last + 1, self.node.newest()))]
        if after:
            raise UncheckedError(
                PART,
                f"{len(after)} came after the record's last block, the first in block {after[0]}; "
                "export it again",
            )

    def _where(self, first: int, until: int) -> Sequence[int]:
        """Where they are looked for: where an agent's nonce rose unexplained, else in every block.

        Errors: UncheckedError when that are too many.
        """
        every = range(first, until + 1)
        if self.scan is Scan.ALL:
            return every
        try:
            return self._heights(first, until)
        except UncheckedError as error:
            if len(every) <= MOST_SCANNED_BLOCKS:
                return every
            text = (
                f"those that the record leaves out were not looked for in {len(every)} blocks "
                f"(--scan all): {error}"
            )
            raise UncheckedError(PART, text) from error

    def _heights(self, first: int, until: int) -> list[int]:
        """The heights in which an agent sent what neither record nor logs know.

        Errors: UncheckedError when the node has no nonces of past blocks.
        """
        known: dict[str, list[int]] = {}
        # a row that was taken back reports nothing, even where it names a transaction that is there
        noted = {row.tx_hash for row in self.rows.standing.values() if row.block_hash is not None}
        for tx_hash, outcome in self.rows.outcomes.items():
            if tx_hash in noted:
                known.setdefault(outcome.sender, []).append(outcome.block_number)
        found = set[int]()
        for agent, since in self._agents.items():
            sent = sorted(known.get(agent, ()))
            found |= {*unexplained_heights(agent, sent, max(first, since), until, self.node)}
        return sorted(found)

    def _left_out(self, heights: Sequence[int]) -> list[tuple[int, SentCall]]:
        """Calls of the vault's agents in these blocks that failed and have no row, by height."""
        suspects = [
            (block, sent)
            for block in self.node.blocks(heights, self.vault).values()
            for sent in block.to_vault
            if self._is_agent(sent.sender, block.number)
            and f"revert:{sent.tx_hash}" not in self.rows.standing
        ]
        known = {log.tx_hash for log in self.expected.logs.values()}
        outcomes = self.node.outcomes(
            {sent.tx_hash: () for _, sent in suspects if sent.tx_hash not in known}
        )
        failed = {tx_hash for tx_hash, outcome in outcomes.items() if outcome.status == 0}
        return [(block.number, sent) for block, sent in suspects if sent.tx_hash in failed]

    @cached_property
    def _agents(self) -> dict[str, int]:
        """Each account that was ever the vault's agent, and since which height."""
        since: dict[str, int] = {}
        for height, agent in self.expected.agents:
            since.setdefault(agent, height)
        return since

    def _is_agent(self, sender: str, number: int) -> bool:
        return self._agents.get(sender, number + 1) <= number

    def _happened(self, row: LedgerRow, outcome: TransactionReceipt | None) -> bool:
        if outcome is None or outcome.block_hash != row.block_hash:
            text = f"there is no {row.tx_hash} in block {row.block_number}"
            self.report.say("revert.transaction", row.seq, text)
            return False
        if outcome.status != 0:
            self.report.say("revert.status", row.seq, f"{row.tx_hash} did not fail")
            return False
        if outcome.to != self.vault or not self._is_agent(outcome.sender, outcome.block_number):
            text = f"{row.tx_hash} is from {outcome.sender} to {outcome.to}"
            self.report.say("revert.parties", row.seq, text)
            return False
        return True

    def _content(self, row: LedgerRow, block: Block) -> None:
        raw = self.node.ask(
            "a reverted call",
            lambda: self.node.reader.transaction(row.tx_hash or ""),
            lambda raw: raw and {name: raw[name] for name in ("from", "to", "input")},
        )
        refusal = row.payload.get("refusal")
        if raw is None or not isinstance(refusal, Mapping):
            self.report.say("revert.content", row.seq, "it has no refusal")
            return
        stated = str(refusal.get("contract_error", refusal.get("reason")))
        # What the service could not look up is there without the attempt.
        attempted = (
            None if stated == UNKNOWN and "attempted" not in refusal else attempted_of(raw["input"])
        )
        wanted = revert_note(
            chain_id=self.rows.subject.chain_id,
            tx_hash=row.tx_hash or "",
            block_number=block.number,
            block_hash=block.hash,
            at=block.at,
            reason=stated,
            attempted=attempted,
            proves_event_id=self._proven(row),
        )
        if not is_same_row(row, wanted):
            text = f"the row says {shown_row(row)}, the call gives {shown_row(wanted)}"
            self.report.say("revert.content", row.seq, text)
        elif self._is_reason(row, stated, raw, block):
            self.proven.add(row.seq)

    def _proven(self, row: LedgerRow) -> int | None:
        """The agent's own report of this call, if it came before."""
        reports = self._reports.get(f"refusal:{row.tx_hash}", ())
        return max((seq for seq in reports if seq < row.seq), default=None)

    def _is_reason(self, row: LedgerRow, stated: str, raw: Mapping[str, str], block: Block) -> bool:
        """Run the call again on the state before its block: what it fails with there is demanded.

        A node without that state leaves a reason the record's word; `unknown` says nothing.
        """
        try:
            data = self.node.ask(
                "a reverted call, run again",
                lambda: self.node.reader.replay(raw, block.parent_hash, block.number, block.at),
            )
        except UncheckedError:
            data = None
        decoded = None if data is None else decode_revert(data)
        given = UNKNOWN if decoded is None else decoded.name
        if stated == given:
            return True
        if data is None:
            self.unexplained += 1
        else:
            text = f"the row says {stated}, run again it fails with {given}"
            self.report.say("revert.reason", row.seq, text)
        return False
