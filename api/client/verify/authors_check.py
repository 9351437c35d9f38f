"""What the authors of rows signed: who, what, and that nothing of theirs was added, changed or left
out since.

Each of owner, agent and keeper has one sequence of signed rows. A row of theirs without a signature
is a claim before their first signed one, and a finding after it.

Who may sign: the owner of the signed terms; the agent of the signed terms, or since a log of the
vault set another one that one alone; the factory's keeper. Of terms that name no agent any key may sign in the agent's name,
and it is reported that nothing vouches for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Node
from api.client.verify.rows_check import CLOCKS
from api.client.verify.terms_check import RecordSubject
from core.chain.signatures import verify_digest
from core.mandate.chain.typed_data import record_row
from core.mandate.rules.record import is_own_word, next_signature
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowAuthor
from core.mandate.rules.terms import ZERO_ADDRESS


def check_authors(
    subject: RecordSubject, rows: Sequence[LedgerRow], node: Node, report: Report
) -> None:
    """Compare every signed row with its author's sequence and key. What no node answers for is
    reported as unchecked.
    """
    check = AuthorsCheck(subject, rows, node, report)
    for row in rows:
        try:
            check.row(row)
        except UncheckedError as error:
            report.unchecked.append(str(error))
    check.summarize()
    report.vouched = check.vouched


@dataclass(slots=True)
class AuthorsCheck:
    """Goes through the rows once, oldest first; `newest` by author their last signed row, `first`
    the seq of their first one."""

    subject: RecordSubject
    rows: Sequence[LedgerRow]
    node: Node
    report: Report
    newest: dict[ReportedBy, LedgerRow] = field(default_factory=dict)
    first: dict[ReportedBy, int] = field(default_factory=dict)
    signed: int = 0
    unvouched: set[str] = field(default_factory=set)
    vouched: set[int] = field(default_factory=set)  # seqs of rows that their author signed
    _set_by: dict[int, tuple[datetime, str]] = field(default_factory=dict)
    _signers: dict[ReportedBy, frozenset[str]] = field(default_factory=dict)

    def row(self, row: LedgerRow) -> None:
        self._note(row)
        author = row.author
        if author is None:
            self._unsigned(row)
        elif row.reverses_id is not None or not is_own_word(row):
            self.report.say("author.foreign", row.seq, f"{row.base_key} is nobody's own word")
        else:
            self._place(row, author)
            self.newest[row.reported_by] = row
            self.first.setdefault(row.reported_by, row.seq)
            self.signed += 1
            self._signature(row, author)

    def _unsigned(self, row: LedgerRow) -> None:
        before = self.newest.get(row.reported_by)
        if before is not None and row.reverses_id is None and is_own_word(row):
            text = f"the {row.reported_by.value} signs since row {self.first[row.reported_by]}"
            self.report.say("author.unsigned", row.seq, f"{text}, this row is not signed")

    def _place(self, row: LedgerRow, author: RowAuthor) -> None:
        expected = next_signature(self.newest.get(row.reported_by))
        if author.sequence != expected.sequence:
            text = f"signed as number {author.sequence}, it is number {expected.sequence}"
            self.report.say("author.sequence", row.seq, f"{text} of the {row.reported_by.value}")
        if author.prev != expected.prev:
            text = f"signed after the row {author.prev}, the one before is {expected.prev}"
            self.report.say("author.prev", row.seq, text)

    def _signature(self, row: LedgerRow, author: RowAuthor) -> None:
        signers = self._may_sign(row)
        if signers and author.signer not in signers:
            text = f"{author.signer} signed for the {row.reported_by.value}, who is"
            self.report.say("author.signer", row.seq, f"{text} {' or '.join(sorted(signers))}")
        if not signers:
            self.unvouched.add(author.signer)
        subject = self.subject
        digest = record_row(
            subject.terms.public_id, row, author, subject.factory, subject.chain_id
        ).digest
        if not self._is_signed(row, author, digest):
            text = f"{author.signer} did not sign {digest}, which this row gives"
            self.report.say("author.signature", row.seq, text)
        elif author.signer in signers:
            self.vouched.add(row.seq)

    def _is_signed(self, row: LedgerRow, author: RowAuthor, digest: str) -> bool:
        """By a key, or a contract wallet as it is now; one that has changed since is asked as it was
        in the last block before the row.
        """

        def at(block: int | str) -> bool:
            reader = self.node.reader
            return verify_digest(author.signer, digest, author.signature, reader, block)

        part = "a row's signature"
        if self.node.ask(part, lambda: at("latest")):
            return True
        if not self.node.ask(part, lambda: self.node.reader.code_at(author.signer)):
            return False
        written, newest = int(row.created_at.timestamp()), self.node.newest()
        before = max(0, self.node.first_after(written + 1, newest + 1) - 1)
        return self.node.ask(part, lambda: at(before))

    def _may_sign(self, row: LedgerRow) -> frozenset[str]:
        """Nobody: the record does not say who may."""
        by = row.reported_by
        if by is ReportedBy.AGENT:
            return frozenset(self._agents(row) - {ZERO_ADDRESS})
        if by not in self._signers:
            owner, node = self.subject.terms.owner, self.node
            found = (
                owner
                if by is ReportedBy.OWNER
                else node.ask("the factory's keeper", node.reader.keeper)
            )
            self._signers[by] = frozenset({found} - {ZERO_ADDRESS})
        return self._signers[by]

    def _agents(self, row: LedgerRow) -> set[str]:
        """Who was the agent when the row was written: of the rows before it that name one the newest,
        else of the signed terms; and for a little while the one before, whose row may have been on
        its way.

        A row that was taken back later counts until it was: nobody knew.
        """
        found = {self.subject.terms.agent}
        for at, agent in self._set_by.values():
            if row.created_at - at > CLOCKS:
                found = {agent}
            else:
                found.add(agent)
        return found

    def _note(self, row: LedgerRow) -> None:
        """Remember whom a row of the chain makes the agent, and forget what is taken back."""
        if row.reverses_id is not None:
            self._set_by.pop(row.reverses_id, None)
            return
        fact = row.payload.get("agent_set")
        if row.block_hash is not None and isinstance(fact, Mapping):
            self._set_by[row.seq] = (row.created_at, str(fact.get("agent")))

    def summarize(self) -> None:
        if self.signed:
            self.report.figures["signed_rows"] = self.signed
        for signer in sorted(self.unvouched):
            self.report.remarks.append(
                f"rows are signed by {signer}, and nothing in the record says whose key that is"
            )
