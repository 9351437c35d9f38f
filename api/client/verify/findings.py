"""What a check can say: a difference, by name and row; a part that could not be checked; a
remark.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

MOST_FINDINGS: Final = 1_000
MOST_TEXTS: Final = 100  # of what could not be checked, and of remarks
MOST_CHARACTERS: Final = 2_000  # of one finding or text
NAMES: Final[Mapping[str, str]] = {
    "format.json": "a line is no JSON object",
    "format.line": "a line is longer than a record's lines are, or holds too much",
    "format.canonical": "a line is not the canonical JSON of what it says",
    "format.number": "a number is a fraction or too large",
    "format.first": "the first line is not that of a record",
    "format.row": "a row lacks a field, has one too many, or has one of another form",
    "format.head_missing": "the file does not end with a head: it was cut off",
    "chain.seq": "rows are not numbered 1, 2, 3 ...",
    "chain.prev_hash": "a row is not chained to the one before",
    "chain.row_hash": "a row's content does not give its hash",
    "chain.genesis": "the chain does not begin with the mandate's id",
    "head.seq": "the head counts other rows than there are",
    "head.row_hash": "the head is not the last row's hash",
    "head.totals": "the head's totals are not the sum of the rows",
    "head.block": "the block that the record claims to be complete up to is not in the chain",
    "subject.mandate": "the record is of another mandate than the one that was named",
    "subject.owner": "the record is of another owner than the one that was named",
    "terms.form": "the terms cannot be read",
    "terms.mandate_id": "the terms name another mandate",
    "terms.rules": "the rules are not those that were signed",
    "terms.guard_targets": "the guard's targets are not those that were signed",
    "terms.digest": "the terms do not give the digest",
    "terms.signature": "the owner did not sign this digest",
    "terms.vault": "the vault is not the one of these terms",
    "terms.on_chain": "a term differs from the one that the factory wrote down",
    "terms.cancelled": "the rows and the factory differ on whether the terms were cancelled",
    "terms.chain_id": "the record is of another chain than the node's",
    "terms.factory": "the factory is not the expected one, or no factory at all",
    "author.signer": "the signer is nobody who may sign in the author's name",
    "author.signature": "the signer did not sign what the row says",
    "author.sequence": "the author's signed rows are not numbered 1, 2, 3 ...",
    "author.prev": "a signed row does not name the author's signed row before it",
    "author.unsigned": "an unsigned row of an author who signs",
    "author.foreign": "a signature on a row that is nobody's own word",
    "row.transaction": "the transaction does not exist",
    "row.status": "the transaction failed, so it has no logs",
    "row.log_index": "the transaction has no log of that number",
    "row.foreign_log": "the log is of another contract or concerns another mandate",
    "row.kind": "another kind than the log's",
    "row.reported_by": "reported by somebody who did not say it",
    "row.time": "another time than the block's",
    "row.amount": "another amount than the log's",
    "row.flag": "a report lacks a flag that the rules give it, or has one that they do not",
    "row.written": "written before the row before it, or before what it reports",
    "row.cash_delta": "moves other cash than the log did",
    "row.place": "another chain, transaction, log, height or block than the log's",
    "row.payload": "other content than the log's",
    "row.unproven": "claims the chain's or the owner's word and names no proof",
    "row.cash_without_proof": "moves cash and no log did",
    "row.doubled": "the same fact is recorded twice",
    "row.orphaned_block": "its block is not in the chain and no row takes it back",
    "row.incarnation": "the fact's returns are not counted 1, 2, 3 ...",
    "row.left_out": "a log of the vault has no row",
    "row.order": "rows of the chain are not in its order; notes of the factory have one of their own",
    "reversal.target": "takes back no earlier row, or one that was taken back",
    "reversal.content": "is not the mirror of the row that it takes back",
    "reversal.without_cause": "takes back a row whose block is in the chain",
    "revert.transaction": "the reverted call does not exist",
    "revert.status": "the call did not fail",
    "revert.parties": "the call is not from the vault's agent to the vault",
    "revert.content": "the note says something else than the call",
    "revert.reason": "the call failed for another reason",
    "revert.left_out": "a reverted call of the agent has no row",
    "replay.sum": "the rows and the vault's logs give different sums",
    "vault.sum": "the rows and the vault's own totals differ",
    "vault.status": "the rows and the vault give different states",
    "vault.window": "the rows and the vault leave different amounts for the day",
    "vault.balance": "the vault holds less USDC than the rows say",
    "anchor.form": "an anchor's line has another form",
    "anchor.order": "anchors are not one an epoch, rising, or a later one holds fewer rows",
    "anchor.head": "a head that was anchored is not on the record's chain",
    "anchor.proof": "the proof does not lead from the head to the root",
    "anchor.post": "the contract posted no such root, or not in this block",
    "anchor.start": "the anchors begin after the record does",
    "anchor.left_out": "the contract has an epoch that the record has no anchor of",
    "anchor.missing_epoch": "the contract was left without an epoch's root",
    "anchor.backdated": "the row claims to be older than the first block that holds it",
    "anchor.postdated": "the row claims to be newer than a block that holds it",
    "log_head.differs": "the vault's logs, as the node gives them, do not make the vault's own logHead",
    "nodes.differ": "the nodes that were asked contradict one another",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`name` is one of NAMES; `seq` the row, None for the file as a whole."""

    name: str
    seq: int | None
    text: str


@dataclass(frozen=True, slots=True)
class FalseClaim:
    """A report of the agent that the chain contradicts. `word`: of core.mandate.rules.reports."""

    seq: int
    word: str
    text: str


class UncheckedError(Exception):
    """A part could not be checked: the node is away, refuses, or no longer has the state.

    Never a reason to call a record sound.
    """

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"{part}: {reason}")
        self.part = part
        self.reason = reason


class Verdict(StrEnum):
    """What the checks prove, and no more."""

    SOUND = "sound"  # every row
    CHAIN_SOUND = "chain_sound"  # every row but the claims
    CLAIMS_ONLY = "claims_only"  # paper: no chain is behind any row
    DIFFERENT = "different"
    UNCHECKED = "unchecked"

    def exit_code(self, *, strict: bool) -> int:
        """`strict`: claims are no success either."""
        claims = 3 if strict else 0
        return {
            Verdict.SOUND: 0,
            Verdict.CHAIN_SOUND: claims,
            Verdict.CLAIMS_ONLY: claims,
            Verdict.DIFFERENT: 1,
            Verdict.UNCHECKED: 2,
        }[self]


class Texts(list[str]):
    """Texts of the checks, as many and as long as findings may be; the last one counts the rest.

    A record of 100,000 signed rows of a wallet that no node answers for wrote a text for each.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        super().__init__()
        self._more = 0
        self.extend(texts)

    def append(self, text: str) -> None:
        if self._more or len(self) >= MOST_TEXTS:
            self._more += 1
            del self[MOST_TEXTS:]
            super().append(f"... and {self._more} more like these")
        else:
            super().append(_cut(text))

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.append(text)

    def __iadd__(self, texts: Iterable[str]) -> "Texts":  # type: ignore[override,misc]  # a list's takes any
        self.extend(texts)
        return self


def listed(seqs: Sequence[int], most: int = 10) -> str:
    """Rows by their numbers, the first of many."""
    return ", ".join(map(str, seqs[:most])) + (", ..." if len(seqs) > most else "")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[:MOST_CHARACTERS] + "..."


@dataclass(slots=True)
class Report:
    """What the checks found so far.

    `subject`: what the record is about, as far as it is known. `claims` are the seqs of rows that
    nothing on chain proves; `vouched` those of rows that their author signed, and any other claim
    is the service's word for what somebody said. `false_claims` are those of the agent that the
    chain contradicts: no difference of the record, which says truly what was claimed. `is_paper`:
    of a mandate without a chain, whatever its rows say.

    `shown`: limits, progress and statement, as the rows give them.

    Laws: at most MOST_FINDINGS are kept, and as many false claims, of what is unchecked and of
    remarks MOST_TEXTS, and all texts cut, so that a file cannot make the report larger than it is
    worth; `more` and `more_false_claims` count the rest.
    """

    findings: list[Finding] = field(default_factory=list)
    more: int = 0
    unchecked: Texts = field(default_factory=Texts)
    remarks: Texts = field(default_factory=Texts)
    claims: list[int] = field(default_factory=list)
    vouched: set[int] = field(default_factory=set)
    is_paper: bool = False
    false_claims: list[FalseClaim] = field(default_factory=list)
    more_false_claims: int = 0
    subject: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    shown: dict[str, Any] = field(default_factory=dict)

    def say(self, name: str, seq: int | None, text: str) -> None:
        if name not in NAMES:
            raise KeyError(name)
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(name, seq, _cut(text)))
        else:
            self.more += 1

    def add_false_claim(self, false_claim: FalseClaim) -> None:
        if len(self.false_claims) < MOST_FINDINGS:
            self.false_claims.append(false_claim)
        else:
            self.more_false_claims += 1

    @property
    def signed_claims(self) -> list[int]:
        """Those that their author vouches for, by a signature."""
        return [seq for seq in self.claims if seq in self.vouched]

    @property
    def verdict(self) -> Verdict:
        if self.findings:
            return Verdict.DIFFERENT
        if self.unchecked:
            return Verdict.UNCHECKED
        if self.is_paper:
            return Verdict.CLAIMS_ONLY
        return Verdict.CHAIN_SOUND if self.claims else Verdict.SOUND

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.value,
            "subject": self.subject,
            "differences": [
                {"name": one.name, "seq": one.seq, "text": one.text} for one in self.findings
            ],
            "more_differences": self.more,
            "by_name": dict(Counter(one.name for one in self.findings)),
            "unchecked": self.unchecked,
            "remarks": self.remarks,
            "claims": self.claims,
            "signed_claims": self.signed_claims,
            "false_claims": [
                {"seq": one.seq, "word": one.word, "text": one.text} for one in self.false_claims
            ],
            "more_false_claims": self.more_false_claims,
            "figures": self.figures,
            "shown": self.shown,
        }
