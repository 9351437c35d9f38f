"""Transfer reports: what an agent says it moved, and what the chain makes of it
(docs/transfers.md).

                    seen at `safe`, as reported
    reported <-> seen ------------------------------> confirmed
       |          |                                       |
       |          | reverted, or other than reported      | its block is replaced
       v          v                                       v
       +-------> failed <---------------------------------+
    not seen       |  ^---- again as reported at `safe`, within a day: confirmed (restored)
    for an hour    '------- a day has passed: closed, for good

Laws
- The chain is believed at its `safe` block, for good and for bad; before it nothing moves but the
  word `seen`.
- Time is the time of the chain's safe block, so that a node that is away makes nobody's report
  fail.
- A report holds one place in the balances, given by its state alone: `standing`. Each move is the
  difference of two places.
- Amounts are base units of an asset with six decimals.
"""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Literal

from core.times import DAY_S

UNSEEN_FAILS_AFTER_S = 3_600
RESTORED_WITHIN_S = DAY_S  # docs/transfers.md#when-a-report-moves
USDC = "USDC"


class Direction(StrEnum):
    """Direction of the transfer, seen from the agent's wallet."""

    IN = "in"
    OUT = "out"


ReportStatus = Literal["reported", "confirmed", "failed"]


class State(StrEnum):
    """`seen` is ours: outside it reads `reported`, as everything does before it is confirmed."""

    REPORTED = "reported"
    SEEN = "seen"
    CONFIRMED = "confirmed"
    FAILED = "failed"

    @property
    def status(self) -> ReportStatus:
        """The word that the API shows."""
        match self:
            case State.CONFIRMED:
                return "confirmed"
            case State.FAILED:
                return "failed"
        return "reported"


class Failure(StrEnum):
    REVERTED = "reverted"
    # the logs say another amount, or none from or to the agent's wallet
    CONTRADICTED = "contradicted"
    NOT_SEEN = "not_seen"
    BLOCK_REPLACED = "block_replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class FourStates:
    """Base units of an asset with six decimals, by state: a balance, or signed deltas."""

    idle_e6: int = 0
    reserved_e6: int = 0
    in_transit_e6: int = 0
    delivered_e6: int = 0

    def negated(self) -> "FourStates":
        return FourStates(**{field.name: -getattr(self, field.name) for field in fields(self)})

    def plus(self, other: "FourStates") -> "FourStates":
        return FourStates(
            **{
                field.name: getattr(self, field.name) + getattr(other, field.name)
                for field in fields(self)
            }
        )


def standing(direction: Direction, state: State, amount_e6: int) -> FourStates:
    """What a report in this state is in its account's balances."""
    if state is State.FAILED:
        return FourStates()
    is_confirmed = state is State.CONFIRMED
    if direction is Direction.IN:
        return (
            FourStates(idle_e6=amount_e6) if is_confirmed else FourStates(in_transit_e6=amount_e6)
        )
    if is_confirmed:
        return FourStates(idle_e6=-amount_e6, delivered_e6=amount_e6)
    return FourStates(idle_e6=-amount_e6, in_transit_e6=amount_e6)


def move(direction: Direction, amount_e6: int, before: State, after: State) -> FourStates:
    """The signed deltas that take a report from one state to another."""
    return standing(direction, after, amount_e6).plus(
        standing(direction, before, amount_e6).negated()
    )


# What the chain shows, and what follows


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTransfer:
    """One Transfer log of the asset's contract."""

    from_: str
    to: str
    amount_e6: int
    log_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A report's transaction in a block of ours.

    `at`: the block's unix second. `moved_e6`: the sum of the asset's transfers in the report's
    direction, None when the agent's wallet took no part (or is not linked). `funder`: who sent it
    the largest of them.
    """

    block_hash: str
    block_number: int
    at: int
    is_safe: bool
    is_success: bool
    moved_e6: int | None
    log_index: int | None
    funder: str | None = None


def moved(
    transfers: tuple[TokenTransfer, ...], wallet: str | None, direction: Direction
) -> tuple[int, int] | None:
    """(sum, index of the first log) of what one transaction brought to the wallet, or took from it;
    None: nothing.

    A transaction can be reported once, so that its report is its whole sum. What the wallet sends
    to itself is no transfer.
    """
    mine = _of(transfers, wallet, direction)
    return (sum(one.amount_e6 for one in mine), mine[0].log_index) if mine else None


def funder_of(transfers: tuple[TokenTransfer, ...], wallet: str | None) -> str | None:
    """Who sent the wallet the largest amount; None: nobody sent it anything."""
    paid = _of(transfers, wallet, Direction.IN)
    return max(paid, key=lambda one: one.amount_e6).from_ if paid else None


def _of(
    transfers: tuple[TokenTransfer, ...], wallet: str | None, direction: Direction
) -> list[TokenTransfer]:
    return [
        one
        for one in transfers
        if one.from_ != one.to
        and wallet is not None
        and wallet == (one.to if direction is Direction.IN else one.from_)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """`deadline`: unix second, inclusive; until then a report waits to be seen, a failed one to
    come back.
    """

    state: State
    amount_e6: int
    deadline: int
    block_hash: str | None


class TransferVerdict(StrEnum):
    WAIT = "wait"
    SEE = "see"
    UNSEE = "unsee"
    CONFIRM = "confirm"
    FAIL = "fail"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class TransferStep:
    """`failure` is set for FAIL alone."""

    verdict: TransferVerdict
    failure: Failure | None = None


def judge(report: Watched, sighting: Sighting | None, safe_at: int) -> TransferStep:
    """The next step of a report that is not confirmed.

    `sighting` None: no block of the chain holds the transaction.

    `safe_at`: unix second of the chain's safe block.
    """
    if report.state is State.FAILED:
        return _judge_failed(report, sighting, safe_at)
    if sighting is None:
        if report.state is State.SEEN:
            return TransferStep(TransferVerdict.UNSEE)
        return (
            TransferStep(TransferVerdict.FAIL, Failure.NOT_SEEN)
            if safe_at > report.deadline
            else TransferStep(TransferVerdict.WAIT)
        )
    if not sighting.is_safe:
        return TransferStep(
            TransferVerdict.WAIT
            if report.block_hash == sighting.block_hash
            else TransferVerdict.SEE
        )
    failure = failure_of(report, sighting)
    return (
        TransferStep(TransferVerdict.CONFIRM)
        if failure is None
        else TransferStep(TransferVerdict.FAIL, failure)
    )


def failure_of(report: Watched, sighting: Sighting) -> Failure | None:
    """None: the transaction is what was reported."""
    if not sighting.is_success:
        return Failure.REVERTED
    return None if sighting.moved_e6 == report.amount_e6 else Failure.CONTRADICTED


def _judge_failed(report: Watched, sighting: Sighting | None, safe_at: int) -> TransferStep:
    """A day is a day of the chain: what came back in it counts, however late we look."""
    if (
        sighting is not None
        and sighting.at <= report.deadline
        and failure_of(report, sighting) is None
    ):
        return TransferStep(TransferVerdict.CONFIRM if sighting.is_safe else TransferVerdict.WAIT)
    return TransferStep(
        TransferVerdict.CLOSE if safe_at > report.deadline else TransferVerdict.WAIT
    )
