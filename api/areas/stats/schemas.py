"""Commands and answers of statistics over all exchanges (docs/board.md#statistics)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, Flag, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.shared.board_row import Figure, LetterWord
from core.market.board_views import MOST_PERCENT, WATCHLIST_PERCENT

DEFAULT_GAPS, MOST_GAPS = 50, 200
MOST_WATCHED = 500


class WatchlistQuery(Command):
    percent: Annotated[int, Field(ge=1, le=MOST_PERCENT), WHOLE] = Field(
        default=WATCHLIST_PERCENT, description="how much of the graded tokens is listed"
    )


class GapsQuery(Command):
    actionable: Flag = Field(
        default=False, description="those alone that earn and can be transferred"
    )
    limit: Annotated[int, Field(ge=1, le=MOST_GAPS), WHOLE] = DEFAULT_GAPS


class SpreadsQuery(Command):
    limit: Annotated[int, Field(ge=1, le=MOST_GAPS), WHOLE] = DEFAULT_GAPS


class ReelQuery(Paged):
    pass


class VenueCoverage(AnswerBody):
    exchange: str
    exchange_code: str
    state: Literal["ok", "degraded", "down"]
    reason: str | None = Field(description="why it is not ok")
    since: InstantText
    listings: int = Field(description="pairs that it lists now")
    books_per_minute: int
    lag_s: Figure = Field(
        description="from its time to a row that can be read; the 99th percentile"
    )
    skew_ms: int | None = Field(description="how far its clock is from ours")
    answered_at: InstantText | None
    unknowable: list[str] = Field(description="what it does not tell, so that it stays unknown")
    source: str


class StatsSummary(AnswerBody):
    """Null where nothing was counted yet."""

    listings: int = Field(description="pairs that the exchanges list now, the sum of theirs")
    assets: int | None = Field(description="tokens of these listings, each once, as in figures")
    exchanges: list[VenueCoverage]
    figures: dict[str, Any] | None = Field(description="counted about once a minute")
    computed_at: str | None
    grade_version: str
    wci_definition_version: str
    data_source: list[str] = Field(description="live, simulated")
    simulated: Literal[True] | None = None


class WatchedToken(AnswerBody):
    token: str
    gpa_7d: Figure = Field(description="0 to 4, the mean over venues of seven days")
    grade: LetterWord | None = Field(description="of the best venue")
    grade_worst: LetterWord | None
    graded_venues: int
    exchanges: list[str]
    identity: str | None
    transfer: str | None
    graded_at: InstantText | None
    simulated: Literal[True] | None = None


class CriticalWatchlist(AnswerBody):
    """The lowest GPA first, then the worst letter, then the ticker."""

    tokens: list[WatchedToken]
    percent: int
    graded: int = Field(description="tokens with a grade, of which the percentage is taken")
    unknown: int | None = Field(
        description="tokens without one, not on this list; null: not counted yet"
    )
    most: int = Field(description="as many are listed at most")


class ArbGap(AnswerBody):
    """Buy at one exchange, sell at another. Net of fees, transfer and both quotes' age."""

    token: str
    buy_exchange: str
    sell_exchange: str
    gross_bps: Figure
    net_1k_bps: Figure = Field(description="for 1,000 dollars; null: the book ends before")
    net_5k_bps: Figure
    net_10k_bps: Figure
    transfer: str = Field(description="open, closed or unverified on a common chain")
    chains: list[str]
    actionable: bool = Field(description="it earns, and can be transferred")
    suspect: str | None = Field(description="why the gap is likely none")
    fx_source: str = Field(description="how quotes were turned into dollars")
    buy_at: InstantText = Field(description="of the book, as sell_at")
    sell_at: InstantText
    observed_at: InstantText


class ArbSnapshotBody(AnswerBody):
    gaps: list[ArbGap]
    simulated: Literal[True] | None = None


class ReelChange(AnswerBody):
    token: str
    buy_exchange: str
    sell_exchange: str
    gross_bps: Figure
    was_bps: Figure = Field(description="null: the gap is new")
    net_1k_bps: Figure
    at: InstantText


class ArbReel(AnswerBody):
    changes: list[ReelChange] = Field(description="the newest first, of seven days")
    next_cursor: str | None
    simulated: Literal[True] | None = None


class ArbLegBody(AnswerBody):
    """All that is bought at one exchange to be sold at one other."""

    buy_exchange: str
    sell_exchange: str
    base: Figure
    buy_usd: Figure
    sell_usd: Figure
    profit_usd: Figure = Field(description="after both fees and the withdrawal; null: unknown")
    transfer: str


class ArbSpread(AnswerBody):
    token: str
    venues: int
    dispersion: Figure = Field(description="highest mid less lowest, by the median")
    size_usd: Figure = Field(description="up to where the next unit earns nothing")
    profit_usd: Figure = Field(description="the sum over legs; null: unknown of a leg")
    actionable_profit_usd: Figure = Field(
        description="of legs with an open way and a gain of 30 % at most; null: unknown of such a leg"
    )
    legs: list[ArbLegBody]
    actionable: bool = Field(description="a leg with an open way is known to earn")
    observed_at: InstantText


class ArbSnapshotPro(AnswerBody):
    spreads: list[ArbSpread] = Field(description="of three exchanges and more, the best first")
    simulated: Literal[True] | None = None
