"""Commands and answers of research (docs/board.md#research)."""

from typing import Annotated, Literal

from pydantic import Field

from api.kernel.fields import WHOLE, InstantText
from api.kernel.operation import AnswerBody, Command
from api.shared.board_row import Figure
from api.shared.pairs import ExchangeId, SymbolInBody, SymbolInPath

DEFAULT_DAYS, MOST_DAYS = 21, 90

Days = Annotated[int, Field(ge=1, le=MOST_DAYS), WHOLE]


class ResearchPath(Command):
    exchange: ExchangeId
    symbol: SymbolInPath
    days: Days = DEFAULT_DAYS


class ResearchQuery(Command):
    exchange: ExchangeId
    symbol: SymbolInBody
    days: Days = DEFAULT_DAYS


class ResearchMeta(AnswerBody):
    version: Literal["research_v1"]
    token_id: str
    token: str
    exchange: str
    symbol: str
    days: int
    since: InstantText
    until: InstantText
    bucket_s: int
    usd_per_quote: Figure
    target_state: str
    source: str


class KpiBucket(AnswerBody):
    """Two hours from `at` on; null: unknown in all of their samples."""

    at: InstantText
    n: int = Field(description="number of measured samples")
    open: Figure = Field(description="mid price in the quote currency, as high, low, close")
    high: Figure
    low: Figure
    close: Figure
    spread_p5_bps: Figure
    spread_p50_bps: Figure
    spread_p95_bps: Figure
    depth_1_usd: Figure = Field(description="median depth of the smaller side within 1 %")
    depth_2_usd: Figure
    slip_1k_bps: Figure
    slip_10k_bps: Figure
    volume_24h_usd: Figure
    rv: Figure = Field(description="realized volatility: root of the sum of squared log returns")
    deposit_open_share: Figure = Field(description="share of samples with open deposits, 0 to 1")
    withdraw_open_share: Figure
    coverage: Figure


class PercentileOf(AnswerBody):
    """Percentile of the newest value, 0 to 100; null: nothing to compare with."""

    value: Figure
    own: Figure = Field(description="percentile among this pair's own values in the window")
    peers: Figure = Field(description="percentile among all pairs of its exchange now")
    peers_n: int


class Percentiles(AnswerBody):
    spread_bps: PercentileOf
    depth_2_usd: PercentileOf
    slip_10k_bps: PercentileOf
    volume_24h_usd: PercentileOf


class BurstSecond(AnswerBody):
    at: InstantText
    mid: Figure = Field(description="mid price, in the quote currency")
    spread_bps: Figure
    depth_usd: Figure = Field(description="depth of the smaller side within 2 % of the mid, USD")


class Microburst(AnswerBody):
    """A minute recorded once a second after something unusual."""

    trigger: str
    began_at: InstantText
    ended_at: InstantText
    samples: int
    max_move_bps: Figure
    max_spread_bps: Figure
    min_depth_usd: Figure
    recovery_s: Figure = Field(description="seconds until recovery; null: not within the capture")
    seconds: list[BurstSecond] | None = Field(
        description="the recorded seconds, for the newest three captures; null for older ones"
    )


class Microbursts(AnswerBody):
    captures: list[Microburst] = Field(description="the newest 50 captures of the window")
    quota_per_day: int = Field(description="the target's microburst_hf_captures per UTC day")
    used_today: int


class OnchainChain(AnswerBody):
    chain: str
    day: str
    supply: Figure
    holders: int | None
    top10_share: Figure
    transfers_24h: int | None


class OnchainReport(AnswerBody):
    chains: list[OnchainChain]
    reason: str | None = Field(description="why there are no chains; null: there are some")


class ResearchHealth(AnswerBody):
    status: Literal["ok", "degraded", "stale", "no_data"]
    expected: int = Field(description="samples expected in the window")
    received: int
    rejected: int = Field(description="samples rejected: crossed, empty, stale or out of line")
    coverage: Figure
    gaps: int = Field(description="periods of three minutes, or three scans, without a sample")
    staleness_s: int | None
    clock_skew_ms: int | None


class ResearchPair(AnswerBody):
    meta: ResearchMeta
    kpi_2h: list[KpiBucket] = Field(description="two-hour figures, oldest first")
    percentiles: Percentiles
    microburst: Microbursts
    onchain: OnchainReport
    data_health: ResearchHealth
    simulated: Literal[True] | None = None
