"""Commands and answers of priority targets (docs/subscriptions.md#targets)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, InstantText
from api.kernel.operation import AnswerBody, Command
from api.shared.pairs import ExchangeId, SymbolInBody
from core.targets.rules import MOST_CAPTURES, TargetState


class TargetPair(Command):
    exchange: ExchangeId
    symbol: SymbolInBody


class AddTarget(TargetPair):
    microburst_hf_captures: (
        Annotated[
            int,
            Field(
                ge=0,
                le=MOST_CAPTURES,
                description="high-frequency captures a UTC day, Tier 2 only; without it 0, or as "
                "it was",
            ),
            WHOLE,
        ]
        | None
    ) = None


class AddedTarget(AnswerBody):
    ok: Literal[True]
    exchange: str
    symbol: str
    token_id: str
    priority_pool: bool = Field(description="it is scanned each minute")
    microburst_hf_captures: int
    message: str
    next_steps: list[dict[str, Any]] = Field(
        description="calls as they can be made: method, path, auth, cost, body"
    )
    simulated: Literal[True] = Field(
        default=True, description="true: the listing is simulated; left out otherwise"
    )


class RemovedTarget(AnswerBody):
    ok: Literal[True]
    exchange: str
    symbol: str
    message: str


class TargetScanned(AnswerBody):
    """What the last look at the pair found."""

    sampled_at: InstantText | None = Field(
        description="the minute of the last sample; null: none yet"
    )
    fault: str | None = Field(description="why the last look measured nothing; null: it did")
    price_usd: float | None
    grade: str | None
    is_provisional: bool | None
    gpa_7d: float | None
    outlook: Literal["clear", "notice", "warning", "critical"] = Field(
        description="the worst of the pair's open warnings"
    )


class TargetEntry(AnswerBody):
    exchange: str
    symbol: str
    token_id: str
    state: TargetState = Field(
        description="paused: the subscription has ended or has room for fewer"
    )
    microburst_hf_captures: int
    captures_used_today: int
    added_at: InstantText
    scan: TargetScanned | None = Field(description="null: the pair was never looked at")
    simulated: Literal[True] = Field(
        default=True, description="true: the listing is simulated; left out otherwise"
    )


class TargetList(AnswerBody):
    targets: list[TargetEntry] = Field(description="the oldest first; active ones before paused")
    active: int
    limit: int = Field(description="targets that may be active on your tier")
