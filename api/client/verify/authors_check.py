"""What the authors of rows signed: who, what, and that nothing of theirs was added, changed or left
out since.

Each of owner, agent and keeper has one sequence of signed rows. A row of theirs without a signature
is a claim before their first signed one, and a finding after it.

Who may sign: the owner of the signed terms; the agent of the signed terms or one that a log of the
vault set; the factory's keeper. Of terms that name no agent any key may sign in the agent's name,
and it is told that nothing vouches for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Node
from api.client.verify.terms_check import RecordSubject
from core.chain.signatures import verify_digest
from core.mandate.chain.typed_data import record_row_digest
from core.mandate.rules.authors import is_own_word, next_signature
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowAuthor
from core.mandate.rules.terms import ZERO_ADDRESS

DELEGATION: Final = bytes.fromhex(
    "ef0100"
)  # of an account that signs with its key all the same (EIP-7702)


def check_authors(
    subject: RecordSubject, rows: Sequence[LedgerRow], node: Node, report: Report
) -> None:
    """Compare every signed row with its author's sequence and key. What no node answers for is told
    as unchecked.
    """
    check = AuthorsCheck(subject, rows, node, report)
    for row in rows:
        try:
            check.row(row)
        except UncheckedError as error:
            report.leave_open(str(error))
    check.tell()


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
    _signers: dict[ReportedBy, frozenset[str]] = field(default_factory=dict)

    def row(self, row: LedgerRow) -> None:
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
        signers = self._may_sign(row.reported_by)
        if signers and author.signer not in signers:
            text = f"{author.signer} signed for the {row.reported_by.value}, who is"
            self.report.say("author.signer", row.seq, f"{text} {' or '.join(sorted(signers))}")
        if not signers:
            self.unvouched.add(author.signer)
        subject = self.subject
        digest = record_row_digest(
            subject.terms.public_id, row, author, subject.factory, subject.chain_id
        )
        if not self.node.ask(
            "a row's signature",
            lambda: verify_digest(author.signer, digest, author.signature, self.node.reader),
        ):
            self._unsigned_today(row, author, digest)

    def _unsigned_today(self, row: LedgerRow, author: RowAuthor, digest: str) -> None:
        """A contract wallet is asked today: it may have had other keys when it signed."""
        code = self.node.ask("a row's signature", lambda: self.node.reader.code_at(author.signer))
        if code and not code.startswith(DELEGATION):
            self.report.leave_open(
                f"row {row.seq}: the wallet {author.signer} does not stand behind its signature today"
            )
            return
        text = f"{author.signer} did not sign {digest}, which this row gives"
        self.report.say("author.signature", row.seq, text)

    def _may_sign(self, by: ReportedBy) -> frozenset[str]:
        """Nobody: the record does not say who may."""
        if by not in self._signers:
            found = {
                ReportedBy.OWNER: lambda: {self.subject.terms.owner},
                ReportedBy.AGENT: self._agents,
                ReportedBy.KEEPER: self._keepers,
            }[by]()
            self._signers[by] = frozenset(found - {ZERO_ADDRESS})
        return self._signers[by]

    def _agents(self) -> set[str]:
        """Those of the signed terms and of the vault's logs; a row that was taken back counts for
        nothing.
        """
        gone = {row.reverses_id for row in self.rows if row.reverses_id is not None}
        facts = [
            row.payload.get("agent_set")
            for row in self.rows
            if row.block_hash is not None and row.reverses_id is None and row.seq not in gone
        ]
        set_since = {str(fact["agent"]) for fact in facts if isinstance(fact, dict)}
        return {self.subject.terms.agent} | set_since

    def _keepers(self) -> set[str]:
        return {self.node.ask("the factory's keeper", self.node.reader.keeper)}

    def tell(self) -> None:
        if self.signed:
            self.report.figures["signed_rows"] = self.signed
        for signer in sorted(self.unvouched):
            self.report.remark(
                f"rows are signed by {signer}, and nothing in the record says whose key that is"
            )
