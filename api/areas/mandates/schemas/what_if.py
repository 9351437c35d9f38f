"""What terms would have done to an agent's record: command and answer (docs/what-if.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.mandates.schemas.commands import DraftTerms
from api.areas.mandates.schemas.mandate import LedgerAnswer
from api.kernel.fields import AccountIdText
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText


class TermsInQuestion(DraftTerms):
    """Terms as in a draft, without its texts."""

    purpose: Annotated[str, FreeText(2_000, lines=True)] = "what if"


class AskWhatIf(Command):
    """`agent_id`: any agent; agents are public."""

    agent_id: AccountIdText
    terms: TermsInQuestion


class ReplayedActions(AnswerBody):
    """The replayed actions: calls that vaults allowed; a batch counts as one.

    `complete` false: older actions were left out.
    """

    count: int
    mandates: int
    from_at: str | None
    to_at: str | None
    complete: bool
    most: int = Field(description="maximum number of calls replayed, the newest ones")


class StopLine(AnswerBody):
    """`stopped_mandates`: number of mandates that would have reached the floor."""

    floor_usdc: str
    accepted_loss_usdc: str
    stopped_mandates: int


class SmallestCaps(AnswerBody):
    """For each limit the smallest value with which nothing would have been refused or stopped;
    null: there is none, or it is unknown.
    """

    per_tx_cap_usdc: str | None
    daily_cap_usdc: str | None
    budget_usdc: str | None
    stop_floor_bps: int | None
    horizon_days: int | None


class TargetInTheWay(AnswerBody):
    address: str
    selector: str
    actions: int


class WhatIfAnswer(LedgerAnswer):
    """`worst_drawdown_usdc`: the largest fall of a mandate's worth below the budget; null when the
    record cannot tell.
    """

    agent_id: str
    actions: ReplayedActions
    allowed: int
    refused: dict[str, int] = Field(
        description="by the contract's reason: OverPerTxCap (per-action cap), OverDailyCap (day), "
        "OverBudget (budget), TargetNotAllowed (target), MandateStopped (after the floor), "
        "MandateEnded (after the period), ExitNotFree"
    )
    stop_line: StopLine
    worst_drawdown_usdc: str | None
    smallest_caps: SmallestCaps
    targets_not_allowed: list[TargetInTheWay]
    assumes: list[str]
    simulated: Literal[True] | None = Field(
        default=None,
        description="present only if the record comes from a simulated world, not from a chain",
    )
