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
                description="high-frequency captures per UTC day, Tier 2 only; left out: unchanged, or 0 "
                "for a new target",
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
    priority_pool: bool = Field(description="true: the pair is scanned each minute")
    microburst_hf_captures: int
    message: str
    next_steps: list[dict[str, Any]] = Field(
        description="calls to make next, ready to send: method, path, auth, cost, body"
    )
    simulated: Literal[True] = Field(
        default=True, description="true: the listing is simulated; omitted otherwise"
    )


class RemovedTarget(AnswerBody):
    ok: Literal[True]
    exchange: str
    symbol: str
    message: str


class TargetScanned(AnswerBody):
    """Result of the last scan of the pair."""

    sampled_at: InstantText | None = Field(description="minute of the last sample; null: none yet")
    fault: str | None = Field(description="why the last scan measured nothing; null: it succeeded")
    price_usd: float | None
    grade: str | None
    is_provisional: bool | None
    gpa_7d: float | None
    outlook: Literal["clear", "notice", "warning", "critical"] = Field(
        description="most severe open warning of the pair"
    )


class TargetEntry(AnswerBody):
    exchange: str
    symbol: str
    token_id: str
    state: TargetState = Field(
        description="paused: the subscription has ended, or allows fewer targets"
    )
    microburst_hf_captures: int
    captures_used_today: int
    added_at: InstantText
    scan: TargetScanned | None = Field(description="the last scan; null: never scanned")
    simulated: Literal[True] = Field(
        default=True, description="true: the listing is simulated; omitted otherwise"
    )


class TargetList(AnswerBody):
    targets: list[TargetEntry] = Field(description="active before paused, each oldest first")
    active: int
    limit: int = Field(description="number of targets that may be active on your tier")
