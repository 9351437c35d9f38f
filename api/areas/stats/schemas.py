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
        default=WATCHLIST_PERCENT, description="share of the graded tokens to list, in percent"
    )


class GapsQuery(Command):
    actionable: Flag = Field(
        default=False, description="true: only gaps that are profitable and transferable"
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
    reason: str | None = Field(description="why the state is not ok; null: it is")
    since: InstantText
    listings: int = Field(description="pairs listed now")
    books_per_minute: int
    lag_s: Figure = Field(
        description="99th percentile of the seconds from the exchange's timestamp to a readable row"
    )
    skew_ms: int | None = Field(description="difference between the exchange's clock and ours")
    answered_at: InstantText | None
    unknowable: list[str] = Field(description="what it does not publish, so it stays unknown")
    source: str


class StatsSummary(AnswerBody):
    """Figures that were not counted yet are null."""

    listings: int = Field(description="pairs listed on all exchanges now")
    assets: int | None = Field(description="distinct tickers among these listings, as in figures")
    exchanges: list[VenueCoverage]
    figures: dict[str, Any] | None = Field(description="counted about once a minute")
    computed_at: str | None
    grade_version: str
    wci_definition_version: str
    data_source: list[str] = Field(description="live or simulated")
    simulated: Literal[True] | None = None


class WatchedToken(AnswerBody):
    token: str
    gpa_7d: Figure = Field(description="mean grade over venues and seven days, 0 to 4")
    grade: LetterWord | None = Field(description="grade at the best venue")
    grade_worst: LetterWord | None
    graded_venues: int
    exchanges: list[str]
    identity: str | None
    transfer: str | None
    graded_at: InstantText | None
    simulated: Literal[True] | None = None


class CriticalWatchlist(AnswerBody):
    """Sorted by lowest GPA, then worst letter, then ticker."""

    tokens: list[WatchedToken]
    percent: int
    graded: int = Field(description="graded tokens; the percentage is taken of these")
    unknown: int | None = Field(
        description="tokens without a grade, which are not listed; null: not counted yet"
    )
    most: int = Field(description="maximum number of tokens listed")


class ArbGap(AnswerBody):
    """Buy at one exchange, sell at another; net of fees, transfer and the age of both quotes."""

    token: str
    buy_exchange: str
    sell_exchange: str
    gross_bps: Figure
    net_1k_bps: Figure = Field(description="net gain on 1,000 dollars; null: the book is too thin")
    net_5k_bps: Figure
    net_10k_bps: Figure
    transfer: str = Field(description="open, closed or unverified, on a chain of both exchanges")
    chains: list[str]
    actionable: bool = Field(description="true: it is profitable and transferable")
    suspect: str | None = Field(description="why the gap is probably not real; null: no doubt")
    fx_source: str = Field(description="how quote currencies were converted to dollars")
    buy_at: InstantText = Field(description="time of the order book read, like sell_at")
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
    was_bps: Figure = Field(description="gross gap before the change; null: the gap is new")
    net_1k_bps: Figure
    at: InstantText


class ArbReel(AnswerBody):
    changes: list[ReelChange] = Field(description="changes of the last seven days, newest first")
    next_cursor: str | None
    simulated: Literal[True] | None = None


class ArbLegBody(AnswerBody):
    """Everything bought at one exchange to be sold at another."""

    buy_exchange: str
    sell_exchange: str
    base: Figure
    buy_usd: Figure
    sell_usd: Figure
    profit_usd: Figure = Field(
        description="profit after both fees and the withdrawal fee, USD; null: unknown"
    )
    transfer: str


class ArbSpread(AnswerBody):
    token: str
    venues: int
    dispersion: Figure = Field(description="(highest mid - lowest mid) / median mid")
    size_usd: Figure = Field(description="size above which the next unit earns nothing, USD")
    profit_usd: Figure = Field(description="total profit of all legs, USD; null: unknown for a leg")
    actionable_profit_usd: Figure = Field(
        description="profit of the transferable legs that gain at most 30 %, USD; null: unknown "
        "for one of them"
    )
    legs: list[ArbLegBody]
    actionable: bool = Field(description="true: a transferable leg is known to be profitable")
    observed_at: InstantText


class ArbSnapshotPro(AnswerBody):
    spreads: list[ArbSpread] = Field(description="over three or more exchanges, the best first")
    simulated: Literal[True] | None = None
