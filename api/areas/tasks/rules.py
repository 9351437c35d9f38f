"""The life of a task and of a claim on it, as two tables, and what a settlement pays.

             .-- reject, reverse, lapse --.
             v                            |
  task   (new) --> open --- hold --------> held --- settle ---> settled     one claim at a time
                   open --- settle ------------------------------^  ^       re-observations, from
                   open --- close ---> closing --- settle -----------'       here on

  claim  open -> claimed -> submitted -> verified -> points_recorded -> paid
                    |           |           '-------------+---------------'
                    |           |                         '-- reverse --> rejected, void
                    |           '-- reject --> rejected, void --> void
                    '-- lapse --> expired

Laws
- A state only ever moves along a line of its table; everything else is a defect or a refusal.
- Every category but reobserve takes one claim at a time. A re-observation takes one claim an agent,
  as many as there are agents, until its review has ended.
- A person files one proof a task, whatever becomes of it.
- Who holds tasks holds a few at once, as a person and with its group (docs/payouts.md#groups), and
  takes none again right after one of its group let it lapse.
- What is paid is decided by the proofs in the order in which the server received them, and by
  nothing that came after the verdict.
- A claim's points are recorded when it is verified; `paid` is what the payouts say of them, and is
  never stored here.
Source: docs/tasks.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from api.areas.earn.rules.groups import People
from core.errors import InvalidParameterError, MandateError

REOBSERVE: Final = "reobserve"
REOBSERVE_TENTHS: Final = 30  # of a paid re-observation, and of the debt for a wrong one
PAID_RE_OBSERVERS: Final = 5
TASK_TENTHS_MOST: Final = 1_000  # 100 points: a person's payouts of a UTC day
RESULT_CHARACTERS: Final = 500
CLOSING_FOR: Final = timedelta(hours=24)  # open claims may file, unpaid, after the review
OBSERVED_WITHIN: Final = timedelta(days=7)  # before the proof is received, inclusive


class TaskState(StrEnum):
    OPEN = "open"  # takes claims
    HELD = "held"  # its one claim is open or waits for a verdict
    CLOSING = "closing"  # the review has ended; open claims may file evidence
    SETTLED = "settled"


class TaskMove(StrEnum):
    HOLD = "hold"
    RELEASE = "release"
    CLOSE = "close"
    SETTLE = "settle"


class ClaimStage(StrEnum):
    """Stage of a claim, or of the most advanced claim of a task."""

    OPEN = "open"  # nobody claimed it
    CLAIMED = "claimed"
    SUBMITTED = "submitted"
    VERIFIED = "verified"
    POINTS_RECORDED = "points_recorded"
    PAID = "paid"
    EXPIRED = "expired"
    REJECTED = "rejected"
    VOID = "void"  # nothing was found out: no pay and no debt


class ClaimMove(StrEnum):
    CLAIM = "claim"
    SUBMIT = "submit"
    VERIFY = "verify"
    RECORD = "record"
    PAY = "pay"
    LAPSE = "lapse"
    REJECT = "reject"
    VOID = "void"
    REVERSE = "reverse"


class Truth(StrEnum):
    """Result of the review of a submitted value."""

    MATCH = "match"  # approved
    MISMATCH = "mismatch"  # rejected as wrong
    VOID = "void"  # rejected for any other reason: nobody knows


class ProofVerdict(StrEnum):
    MATCH = "match"
    MISMATCH = "mismatch"
    UNVERIFIABLE = "unverifiable"


class VerdictWord(StrEnum):
    """An operator's, on the proof of a claim."""

    VERIFIED = "verified"
    REJECTED = "rejected"
    REVERSED = "reversed"  # a verified one is taken back


class ReviewEvent(StrEnum):
    ENDED = "ended"
    REVERSED = "reversed"


class TaskFault(StrEnum):
    """Why the market refuses, by the names that callers get."""

    OWN_SUBJECT = "own_subject"
    ALREADY_CLAIMED = "already_claimed"
    ALREADY_SUBMITTED = "already_submitted"
    TASK_CLOSED = "task_closed"
    TOO_MANY_CLAIMS = "too_many_claims"
    CLAIM_LAPSED = "claim_lapsed"
    NOT_CLAIMED = "not_claimed"
    CLAIM_EXPIRED = "claim_expired"
    WRONG_STATUS = "wrong_status"


class TaskRefusedError(MandateError):
    """The text is one sentence. `until`: from then on the same call may be taken; None: unknown."""

    def __init__(self, fault: TaskFault, says: str, until: datetime | None = None) -> None:
        super().__init__(says)
        self.fault = fault
        self.until = until


class UnknownTaskError(MandateError):
    """No task or claim has this id. `what`: which of the two."""

    def __init__(self, what: str, id_: int) -> None:
        super().__init__(f"There is no {what} {id_}.")
        self.what = what
        self.id = id_


class WrongMoveError(MandateError):
    """A move that the state does not allow."""

    def __init__(self, state: str, move: str) -> None:
        super().__init__(f"{state}: {move} is not possible")
        self.state = state
        self.move = move


TASK_LIFE: Final[Mapping[tuple[TaskState, TaskMove], TaskState]] = {
    (TaskState.OPEN, TaskMove.HOLD): TaskState.HELD,
    (TaskState.HELD, TaskMove.RELEASE): TaskState.OPEN,
    (TaskState.HELD, TaskMove.SETTLE): TaskState.SETTLED,
    (TaskState.OPEN, TaskMove.CLOSE): TaskState.CLOSING,
    (TaskState.OPEN, TaskMove.SETTLE): TaskState.SETTLED,
    (TaskState.CLOSING, TaskMove.SETTLE): TaskState.SETTLED,
    (TaskState.SETTLED, TaskMove.RELEASE): TaskState.OPEN,  # the verdict was taken back
}

CLAIM_LIFE: Final[Mapping[tuple[ClaimStage, ClaimMove], ClaimStage]] = {
    (ClaimStage.OPEN, ClaimMove.CLAIM): ClaimStage.CLAIMED,
    (ClaimStage.CLAIMED, ClaimMove.SUBMIT): ClaimStage.SUBMITTED,
    (ClaimStage.CLAIMED, ClaimMove.LAPSE): ClaimStage.EXPIRED,
    (ClaimStage.SUBMITTED, ClaimMove.VERIFY): ClaimStage.VERIFIED,
    (ClaimStage.SUBMITTED, ClaimMove.REJECT): ClaimStage.REJECTED,
    (ClaimStage.SUBMITTED, ClaimMove.VOID): ClaimStage.VOID,
    (ClaimStage.VERIFIED, ClaimMove.RECORD): ClaimStage.POINTS_RECORDED,
    (ClaimStage.POINTS_RECORDED, ClaimMove.PAY): ClaimStage.PAID,
    # a verdict that was taken back
    (ClaimStage.VERIFIED, ClaimMove.REVERSE): ClaimStage.REJECTED,
    (ClaimStage.POINTS_RECORDED, ClaimMove.REVERSE): ClaimStage.REJECTED,
    (ClaimStage.PAID, ClaimMove.REVERSE): ClaimStage.REJECTED,
    # a review that was taken back: nobody knows what the right answer was
    (ClaimStage.VERIFIED, ClaimMove.VOID): ClaimStage.VOID,
    (ClaimStage.POINTS_RECORDED, ClaimMove.VOID): ClaimStage.VOID,
    (ClaimStage.PAID, ClaimMove.VOID): ClaimStage.VOID,
    (ClaimStage.REJECTED, ClaimMove.VOID): ClaimStage.VOID,
}

OPEN_CLAIMS: Final = frozenset({ClaimStage.CLAIMED, ClaimStage.SUBMITTED})
FURTHEST: Final = (
    ClaimStage.OPEN,
    ClaimStage.CLAIMED,
    ClaimStage.SUBMITTED,
    ClaimStage.VERIFIED,
    ClaimStage.POINTS_RECORDED,
    ClaimStage.PAID,
)


def task_after(state: TaskState, move: TaskMove) -> TaskState:
    """Errors: WrongMoveError."""
    try:
        return TASK_LIFE[state, move]
    except KeyError:
        raise WrongMoveError(state, move) from None


def claim_after(stage: ClaimStage, move: ClaimMove) -> ClaimStage:
    """Errors: WrongMoveError."""
    try:
        return CLAIM_LIFE[stage, move]
    except KeyError:
        raise WrongMoveError(stage, move) from None


def furthest(stages: Iterable[ClaimStage]) -> ClaimStage:
    """The furthest of a task's claims; of claims that came to nothing, and of none: open."""
    return max(
        (stage for stage in stages if stage in FURTHEST), key=FURTHEST.index, default=FURTHEST[0]
    )


def is_exclusive(category: str) -> bool:
    """Whether the task takes one claim at a time."""
    return category != REOBSERVE


def tenths_on_approval(category: str, tenths: int) -> int:
    """What a verified claim is granted, in tenths of a point; what a task is shown to pay.

    `tenths`: as its operator set it.
    """
    return tenths if is_exclusive(category) else REOBSERVE_TENTHS


@dataclass(frozen=True, slots=True)
class ClaimBounds:
    """Of claims that hold their task, open at once: those of a person, and those of all agents of a
    network address or of a funding wallet. `shared_funders`: PayoutLimits'.
    """

    of_person: int = 5
    of_address: int = 10
    shared_funders: frozenset[str] = frozenset()


# Proofs


def require_observed(observed_at: datetime, now: datetime) -> None:
    """[now - OBSERVED_WITHIN, now], both inclusive. Errors: InvalidParameterError."""
    if observed_at > now:
        raise InvalidParameterError("observed_at", "write when you looked, a time that is past")
    if observed_at < now - OBSERVED_WITHIN:
        days = OBSERVED_WITHIN.days
        raise InvalidParameterError(
            "observed_at", f"look again; an observation older than {days} days proves nothing now"
        )


# The settlement of a re-observation


@dataclass(frozen=True, slots=True, kw_only=True)
class FiledProof:
    """`place`: the server's receipt, by which proofs are ordered. `is_evidence`: filed after the
    verdict. `groups`: the keys that its agent shares with others (api/areas/earn/rules/groups.py).
    """

    place: int
    verdict: ProofVerdict
    is_evidence: bool = False
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofOutcome:
    """`tenths`: granted (above zero), owed (below) or neither."""

    place: int
    stage: ClaimStage
    tenths: int

    @property
    def is_paid(self) -> bool:
        return self.tenths > 0


def settle(
    proofs: Sequence[FiledProof],
    truth: Truth,
    submitter: frozenset[str] = frozenset(),
    places: int = PAID_RE_OBSERVERS,
) -> tuple[ProofOutcome, ...]:
    """What becomes of each proof, in the order of receipt. `submitter`: the keys of whose value it is;
    `places`: that are paid.

                                  agrees with the truth   disagrees   unverifiable   after the verdict
        first five groups         3.0 points              owes 3.0    void           void
        later, or of one of them  verified, 0             owes 3.0    void           void
        the submitter's group     void                    owes 3.0    void           void

    Without a truth every proof is void.
    """
    people, outcomes, paid = People(), list[ProofOutcome](), 0
    people.meet(submitter)
    people.mark("submitter")
    for proof in sorted(proofs, key=lambda one: one.place):
        known_as = people.meet(proof.groups)
        is_void = proof.is_evidence or proof.verdict is ProofVerdict.UNVERIFIABLE
        agrees = proof.verdict.value == truth.value
        if truth is Truth.VOID or is_void or (agrees and "submitter" in known_as):
            stage, tenths = ClaimStage.VOID, 0
        elif not agrees:
            stage, tenths = ClaimStage.REJECTED, -REOBSERVE_TENTHS
        elif paid < places and "paid" not in known_as:
            paid += 1
            people.mark("paid")
            stage, tenths = ClaimStage.POINTS_RECORDED, REOBSERVE_TENTHS
        else:
            stage, tenths = ClaimStage.VERIFIED, 0
        outcomes.append(ProofOutcome(place=proof.place, stage=stage, tenths=tenths))
    return tuple(outcomes)
