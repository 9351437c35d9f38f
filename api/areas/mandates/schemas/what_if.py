"""What terms would have done to an agent's record: command and answer (docs/what-if.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.mandates.schemas.commands import DraftTerms
from api.areas.mandates.schemas.mandate import LedgerAnswer
from api.kernel.fields import AccountIdText
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText


class TermsInQuestion(DraftTerms):
    """As a draft's, without its words."""

    purpose: Annotated[str, FreeText(2_000, lines=True)] = "what if"


class AskWhatIf(Command):
    """`agent_id`: any agent; agents are public."""

    agent_id: AccountIdText
    terms: TermsInQuestion


class ReplayedActions(AnswerBody):
    """The actions that were replayed: calls that vaults let pass, a batch as one.

    `complete` false: older actions were left out.
    """

    count: int
    mandates: int
    from_at: str | None
    to_at: str | None
    complete: bool
    most: int = Field(description="calls that are replayed, the newest ones")


class StopLine(AnswerBody):
    """`stopped_mandates`: how many of them would have reached the floor."""

    floor_usdc: str
    accepted_loss_usdc: str
    stopped_mandates: int


class SmallestCaps(AnswerBody):
    """Each the smallest with which nothing would have been refused or stopped; null: there is none,
    or it is not known.
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
    """`worst_drawdown_usdc`: the most by which a mandate's worth fell below the budget; null when
    the record can't say.
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
        default=None, description="there when the record is of a simulated world, not of a chain"
    )
