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
        description="ranked agents come first, then the highest figure, or the smallest drawdown",
    )
    window: WindowName = Field(default="30d", description="whose figure it is")
    limit: Annotated[int, Field(ge=1, le=PAGE_MOST), WHOLE] = 20


class ProfileQuery(Command):
    agent_id: AccountIdText
    proof: Flag = False
    curve: Flag = Field(default=False, description="the return at the ends of days, for a chart")


class HallWindow(AnswerBody):
    """UTC days, today included; of all the agent's mandates on the chain."""

    net_usdc: str = Field(
        description="result after the agent's fee; deposits and withdrawals are no result"
    )
    twr_bps: int | None = Field(description="time-weighted return; null without capital")
    max_drawdown_bps: int | None = Field(
        description="the deepest fall from a high, of one mandate or of all together"
    )
    trades: int


class HallWindows(AnswerBody):
    """Each null while facts of the chain are held back from one of the ledgers."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    d7: HallWindow | None = Field(alias="7d")
    d30: HallWindow | None = Field(alias="30d")
    d90: HallWindow | None = Field(alias="90d")
    since: HallWindow | None


class HallDelegators(AnswerBody):
    """Owners other than the agent's own, and what their mandates made."""

    total: int
    working: int = Field(description="with a mandate that works now")
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
    days_live: int = Field(description="UTC days with a funded mandate that had not ended")
    trades_total: int
    ranked: bool
    rank: int | None = Field(description="by days live among ranked agents")
    unranked_reason: UnrankedReason | None
    rank_requirements: RankRequirements | None = Field(description="null for a ranked agent")
    accepts_mandates: bool
    address_ready: bool = Field(description="it has linked a wallet, so that it can be designated")
    house: bool = Field(description="the house runs it")
    as_of: str | None = Field(description="of the newest row of its ledgers")
    windows: HallWindows
    delegators: HallDelegators
    mandates_total: int
    floor_stops: int
    self_stops: int
    violations: int
    operator_stake_usdc: str | None = Field(description="always null, as the reason says")
    operator_stake_reason: str
    self_reported: HallSelfReported
    simulated: Literal[True] | None = Field(
        default=None, description="there when the record is of a simulated world, not of a chain"
    )


class HouseBook(AnswerBody):
    """The house's own row: what its runner's record says."""

    name: str
    agent_id: str
    record: RecordStrip | None


class BuildProgress(AnswerBody):
    """How far the build is: ledgers are counted first, then the figures of agents are made."""

    ledgers: int = Field(description="of mandates that were signed and have an agent")
    counted: int = Field(description="of them, to their newest row")
    agents_left: int


class Hall(AnswerBody):
    """`stale`: the Hall was last built more than ten minutes ago."""

    agents: list[HallRow]
    house_book: HouseBook | None = Field(description="null where the house runs no agent")
    computed_at: str | None
    stale: bool
    pending: bool = Field(description="there was no build yet")
    progress: BuildProgress | None = Field(description="while pending or stale")
    next_cursor: str | None


class HallPolicyChange(AnswerBody):
    at: str
    changes: dict[str, Any] = Field(description="{field: {from, to}}")


class ProofMandate(AnswerBody):
    """A mandate that went into the figures, up to that row of its ledger, whose hash is anchored.

    Whoever has its record counts the same.
    """

    mandate_id: str
    seq: int
    row_hash: str
    net_usdc: str
    trades: int


class CurvePoint(AnswerBody):
    """The end of a UTC day on which a ledger has rows; on days without any, nothing changed."""

    day: str
    twr_bps: int = Field(
        description="time-weighted return since the first day, of all mandates on the chain together"
    )


class HallProfile(AnswerBody):
    agent: HallRow | None
    record: RecordStrip | None = Field(description="the strip that listings show too")
    policy_changelog: list[HallPolicyChange] = Field(description="the last ten, newest first")
    proof: list[ProofMandate] | None = Field(
        description="with proof=1, the newest 200 mandates on the chain"
    )
    curve: list[CurvePoint] | None = Field(
        description="with curve=1, at most 366 days, the last one included; null while facts of the "
        "chain are held back"
    )
    computed_at: str | None
    stale: bool
    pending: bool
