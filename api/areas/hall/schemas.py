"""Commands and answers of the Hall (docs/hall.md)."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from api.areas.records.views.strip import RecordStrip
from api.kernel.fields import WHOLE, AccountIdText, Flag
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged

WindowName = Literal["7d", "30d", "90d", "since"]
UnrankedReason = Literal["days_live", "trades", "days_live_and_trades", "record_incomplete"]
PAGE_MOST = 100


class HallQuery(Paged):
    accepting: Flag = False
    sort: Literal["days_live", "net_usdc", "twr_bps", "max_drawdown_bps", "trades"] = Field(
        default="days_live",
        description="figure to sort by; ranked agents first, then the highest figure, or the "
        "smallest drawdown",
    )
    window: WindowName = Field(default="30d", description="time window of the figure to sort by")
    limit: Annotated[int, Field(ge=1, le=PAGE_MOST), WHOLE] = 20


class ProfileQuery(Command):
    agent_id: AccountIdText
    proof: Flag = False
    curve: Flag = Field(
        default=False, description="with the return at the end of each day, for a chart"
    )


class HallWindow(AnswerBody):
    """Figures of all the agent's mandates on the chain, over UTC days, today included."""

    net_usdc: str = Field(
        description="result after the agent's fee, USDC, without deposits and withdrawals"
    )
    twr_bps: int | None = Field(description="time-weighted return, basis points; null: no capital")
    max_drawdown_bps: int | None = Field(
        description="deepest fall from a high, of a single mandate or of all together, basis points"
    )
    trades: int


class HallWindows(AnswerBody):
    """A window is null while on-chain facts of one of the ledgers are held back."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    d7: HallWindow | None = Field(alias="7d")
    d30: HallWindow | None = Field(alias="30d")
    d90: HallWindow | None = Field(alias="90d")
    since: HallWindow | None


class HallDelegators(AnswerBody):
    """Owners other than the agent's own, and the results of their mandates."""

    total: int
    working: int = Field(description="owners with a mandate that is working now")
    net_7d_usdc: str | None
    net_30d_usdc: str | None


class RankRequirements(AnswerBody):
    days_live: int
    days_needed: int
    trades: int
    trades_needed: int


class HallSelfReported(AnswerBody):
    trades_total: int
    net_30d_usdc: str
    net_since_usdc: str
    fees_usdc: str
    note: str


class HallRow(AnswerBody):
    agent_id: str
    name: str
    days_live: int = Field(
        description="UTC days on which it had a funded mandate that had not ended"
    )
    trades_total: int
    ranked: bool
    rank: int | None = Field(description="rank by days live; null: not ranked")
    unranked_reason: UnrankedReason | None
    rank_requirements: RankRequirements | None = Field(
        description="what it lacks to be ranked; null: ranked"
    )
    accepts_mandates: bool
    address_ready: bool = Field(description="true: its wallet is linked, so a mandate can name it")
    house: bool = Field(description="true: the house runs this agent")
    as_of: str | None = Field(description="time of the newest row in its ledgers")
    windows: HallWindows
    delegators: HallDelegators
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    operator_stake_usdc: str | None = Field(description="always null; the reason explains why")
    operator_stake_reason: str
    self_reported: HallSelfReported
    simulated: Literal[True] | None = Field(
        default=None,
        description="present only if the record comes from a simulated world, not from a chain",
    )


class HouseBook(AnswerBody):
    """The house's own row, from the record of its runner."""

    name: str
    agent_id: str
    record: RecordStrip | None


class BuildProgress(AnswerBody):
    """Progress of the build: ledgers are counted first, then the agents' figures are computed."""

    ledgers: int = Field(description="ledgers of signed mandates that have an agent")
    counted: int = Field(description="ledgers counted so far, up to their newest row")
    agents_left: int


class Hall(AnswerBody):
    """`stale`: the Hall was last built more than ten minutes ago."""

    agents: list[HallRow]
    house_book: HouseBook | None = Field(description="the house's agent; null: the house runs none")
    computed_at: str | None
    stale: bool
    pending: bool = Field(description="true: the Hall has not been built yet")
    progress: BuildProgress | None = Field(
        description="progress of a build; only while pending or stale"
    )
    next_cursor: str | None


class HallPolicyChange(AnswerBody):
    at: str
    changes: dict[str, Any] = Field(description="changed fields: {field: {from, to}}")


class ProofMandate(AnswerBody):
    """A mandate counted in the figures, up to the given row of its ledger, whose hash is anchored.

    Anyone with its record can recompute them.
    """

    mandate_id: str
    seq: int
    row_hash: str
    net_usdc: str
    trades: int


class CurvePoint(AnswerBody):
    """The end of a UTC day on which a ledger has rows; on days without rows nothing changed."""

    day: str
    twr_bps: int = Field(
        description="time-weighted return since the first day over all mandates on the chain, "
        "basis points"
    )


class HallProfile(AnswerBody):
    agent: HallRow | None
    record: RecordStrip | None = Field(description="the record summary, as listings show it")
    policy_changelog: list[HallPolicyChange] = Field(
        description="the last ten changes, newest first"
    )
    proof: list[ProofMandate] | None = Field(
        description="with proof=1: the newest 200 mandates on the chain"
    )
    curve: list[CurvePoint] | None = Field(
        description="with curve=1: at most 366 days, up to the latest; null while on-chain facts "
        "are held back"
    )
    computed_at: str | None
    stale: bool
    pending: bool
