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
SIMULATED = "true: gaps of simulated exchanges among them; left out otherwise"
PAPER = "paper, never real capital"


class AttributionQuery(Command):
    dims: Annotated[
        str,
        Field(
            max_length=100,
            description=f"one to {MOST_DIMENSIONS} of {DIMENSIONS}, with commas",
            json_schema_extra={"pattern": f"^{_ONE}(,{_ONE}){{0,{MOST_DIMENSIONS - 1}}}$"},
        ),
    ] = "gap_cause,deviation_pattern"
    min_n: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = Field(
        default=1, description="slices of fewer trades are one, `other`"
    )


class InsightsQuery(Command):
    days: Annotated[int, Field(ge=1, le=90), WHOLE] = Field(
        default=7, description="UTC days, today included"
    )


class PaperVenueResult(AnswerBody):
    """Of trades that bought there."""

    exchange: str
    settled: int
    returned: int
    void: int
    skipped: int
    hit_rate: Figure = Field(description="of those with a result; null: there is none")
    pnl_usd: str | None
    worst_usd: str | None


class PaperFund(AnswerBody):
    paper: Literal[True]
    stake_usd: str
    n: int = Field(description="trades with a result")
    settled: int
    returned: int = Field(description="withdrawals closed meanwhile: sold where they were bought")
    void: int = Field(description="no sample to price them: no result, not zero")
    skipped: int = Field(description="not entered: no sample, fee or capital")
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
    computed_at: InstantText | None = Field(description="null: it did not run yet")
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class PaperBand(AnswerBody):
    """Shares of the capital at venues; null: no opportunity was seen."""

    exchange: str
    usd: str
    share: Figure
    weight: Figure
    floor: Figure
    cap: Figure
    status: Literal["under", "band", "over"] | None
    concentrated: bool = Field(description="more than 35 % of the capital is there")


class PlannedMove(AnswerBody):
    from_exchange: str
    to_exchange: str
    usd: str
    fee_usd: str
    takes_s: int


class PaperHedge(AnswerBody):
    """1.5 standard deviations of a day of what is in transit."""

    reserved_usd: str | None = Field(description="null: no position's volatility is known")
    in_transit_usd: str
    positions: int
    unknown: int = Field(description="positions without a known volatility, not in the reserve")


class PaperRate(AnswerBody):
    exchange: str
    quote: str
    usd_per_quote: Figure
    at: InstantText


class PaperLogistics(AnswerBody):
    """Of the last 30 days."""

    moves: int
    moved_usd: str
    fees_usd: str
    takes_s: int


class Quartermaster(AnswerBody):
    paper: Literal[True]
    capital_usd: str = Field(description=f"at venues; {PAPER}")
    unplaced_usd: str | None = Field(description="not at a venue yet; null: it did not run yet")
    venues: list[PaperBand]
    concentrated: list[str]
    planned: list[PlannedMove] = Field(description="carried out on paper after 00:00 UTC")
    hedge: PaperHedge
    fx: list[PaperRate] = Field(description="of the newest trade at each venue")
    logistics: PaperLogistics
    computed_at: InstantText | None = Field(description="null: it did not run yet")
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class AttributedSlice(AnswerBody):
    key: dict[str, str] = Field(description="by dimension; `unknown` is a value of its own")
    n: int
    hit_rate: Figure
    pnl_usd: str


class Attribution(AnswerBody):
    paper: Literal[True]
    dims: list[str]
    slices: list[AttributedSlice] = Field(
        description="the most trades first; they sum to the whole"
    )
    n: int
    pnl_usd: str | None = Field(description=f"{PAPER}; null: no trade has a result")
    fingerprint_coverage: Figure = Field(
        description="trades whose every dimension is known; null: there is none"
    )
    computed_at: InstantText | None
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class Insight(AnswerBody):
    id: int
    detector: Literal["venue_drain", "mm_signal"]
    kind: Literal["venue_drain", "venue_risk", "mm_exit", "mm_enter"]
    exchange: str
    token: str | None = Field(description="null: it is about the exchange")
    day: str
    headline: str
    evidence: dict[str, Any]
    at: InstantText
    updated_at: InstantText
    simulated: Literal[True] | None = Field(default=None, description=SIMULATED)


class Insights(AnswerBody):
    days: int
    cards: list[Insight] = Field(
        description=f"the newest first, at most {MOST_CARDS}; the feed insights has all"
    )
