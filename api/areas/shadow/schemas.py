"""Commands and answers of the shadow fund and of insights (docs/shadow-fund.md).

Everything in dollars here is paper: no money was moved, and none is at risk.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, InstantText
from api.kernel.operation import AnswerBody, Command
from api.shared.board_row import Figure
from core.market.rules.shadow import Dimension

DIMENSIONS = ", ".join(Dimension)
_ONE = f"({'|'.join(Dimension)})"
MOST_DIMENSIONS, MOST_SLICES, MOST_CARDS = 3, 200, 200
SIMULATED = "true: includes gaps of simulated exchanges; omitted otherwise"
PAPER = "on paper, never real money"


class AttributionQuery(Command):
    dims: Annotated[
        str,
        Field(
            max_length=100,
            description=f"one to {MOST_DIMENSIONS} of {DIMENSIONS}, separated by commas",
            json_schema_extra={"pattern": f"^{_ONE}(,{_ONE}){{0,{MOST_DIMENSIONS - 1}}}$"},
        ),
    ] = "gap_cause,deviation_pattern"
    min_n: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = Field(
        default=1, description="slices with fewer trades are merged into one, `other`"
    )


class InsightsQuery(Command):
    days: Annotated[int, Field(ge=1, le=90), WHOLE] = Field(
        default=7, description="number of UTC days, today included"
    )


class PaperVenueResult(AnswerBody):
    """Results of trades bought at this exchange."""

    exchange: str
    settled: int
    returned: int
    void: int
    skipped: int
    hit_rate: Figure = Field(description="share that made a profit; null: none has a result")
    pnl_usd: str | None
    worst_usd: str | None


class PaperFund(AnswerBody):
    paper: Literal[True]
    stake_usd: str
    n: int = Field(description="number of trades with a result")
    settled: int
    returned: int = Field(description="trades sold where bought: withdrawals had closed")
    void: int = Field(description="trades without a result (not zero): no sample priced them")
    skipped: int = Field(description="gaps not traded: no sample, known fee or capital")
    pnl_usd: str | None = Field(description=f"{PAPER}; null: no trade has a result")
    mean_bps: Figure
    p5_bps: int | None
    p25_bps: int | None
    p50_bps: int | None
    p75_bps: int | None
    p95_bps: int | None
    hit_rate: Figure
    worst_usd: str | None
    by_venue: list[PaperVenueResult]
    computed_at: InstantText | None = Field(description="time of the last run; null: not run yet")
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class PaperBand(AnswerBody):
    """Capital at one venue, as shares of the total; null: no opportunity was seen."""

    exchange: str
    usd: str
    share: Figure
    weight: Figure
    floor: Figure
    cap: Figure
    status: Literal["under", "band", "over"] | None
    concentrated: bool = Field(description="true: the venue holds more than 35 % of the capital")


class PlannedMove(AnswerBody):
    from_exchange: str
    to_exchange: str
    usd: str
    fee_usd: str
    takes_s: int


class PaperHedge(AnswerBody):
    """Reserve of 1.5 daily standard deviations for what is in transit."""

    reserved_usd: str | None = Field(description="null: no position has a known volatility")
    in_transit_usd: str
    positions: int
    unknown: int = Field(description="positions of unknown volatility, not in the reserve")


class PaperRate(AnswerBody):
    exchange: str
    quote: str
    usd_per_quote: Figure
    at: InstantText


class PaperLogistics(AnswerBody):
    """Transfers of the last 30 days."""

    moves: int
    moved_usd: str
    fees_usd: str
    takes_s: int


class Quartermaster(AnswerBody):
    paper: Literal[True]
    capital_usd: str = Field(description=f"capital at exchanges; {PAPER}")
    unplaced_usd: str | None = Field(description="capital not at an exchange; null: not run yet")
    venues: list[PaperBand]
    concentrated: list[str]
    planned: list[PlannedMove] = Field(description="moves that are made on paper after 00:00 UTC")
    hedge: PaperHedge
    fx: list[PaperRate] = Field(description="rate from the newest trade at each exchange")
    logistics: PaperLogistics
    computed_at: InstantText | None = Field(description="time of the last run; null: not run yet")
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class AttributedSlice(AnswerBody):
    key: dict[str, str] = Field(description="value of each dimension; `unknown` counts as a value")
    n: int
    hit_rate: Figure
    pnl_usd: str


class Attribution(AnswerBody):
    paper: Literal[True]
    dims: list[str]
    slices: list[AttributedSlice] = Field(
        description="slices with the most trades first; they sum to the whole"
    )
    n: int
    pnl_usd: str | None = Field(description=f"{PAPER}; null: no trade has a result")
    fingerprint_coverage: Figure = Field(
        description="share of trades for which every dimension is known; null: no trades"
    )
    computed_at: InstantText | None
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class Insight(AnswerBody):
    id: int
    detector: Literal["venue_drain", "mm_signal"]
    kind: Literal["venue_drain", "venue_risk", "mm_exit", "mm_enter"]
    exchange: str
    token: str | None = Field(description="the token; null: it is about the exchange")
    day: str
    headline: str
    evidence: dict[str, Any]
    at: InstantText
    updated_at: InstantText
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class Insights(AnswerBody):
    days: int
    cards: list[Insight] = Field(
        description=f"newest first, at most {MOST_CARDS}; the feed insights has all of them"
    )
