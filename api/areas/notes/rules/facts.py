"""What a note is written from: values that were read, and nothing else (docs/notes.md).

Units: `_usd` US dollars, `_bps` 1e-4, `_pct` percent; times are aware UTC. None: unknown, which a
note leaves out. Texts are from outside and are escaped where they are written.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class NoteTier(StrEnum):
    """Pro: whoever sends a key."""

    FREE = "free"
    PRO = "pro"


@dataclass(frozen=True, slots=True)
class NoteClaim:
    """What somebody says of a token, and where it can be read. `is_verified`: an operator looked it
    up; else it is no fact. `backer`: whom it names as one; None: it names none.
    """

    kind: str
    text: str
    source_url: str
    is_verified: bool
    at: datetime
    backer: str | None = None


@dataclass(frozen=True, slots=True)
class NoteTrackRecord:
    """What the paper fund made of gaps of this token; never real money. `since`: when the first of
    its closed trades was entered.
    """

    closed: int
    won: int
    profit_usd: float
    since: datetime


@dataclass(frozen=True, slots=True)
class NoteContract:
    chain: str
    address: str
    exchanges: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteGroup:
    """What is one asset by its contracts. `coins`: exchange:ticker there."""

    id: str
    coins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoteLink:
    """That two contracts are one asset. `exchanges`: who lists both."""

    one: str
    other: str
    exchanges: tuple[str, ...]
    is_weak: bool
    is_refused: bool


@dataclass(frozen=True, slots=True)
class NoteVenue:
    """A listing of the token: what a board row shows of it. `status` delisted: as it was last."""

    exchange: str
    symbol: str
    token_id: str
    status: str | None
    grade: str | None
    is_provisional: bool | None
    score: float | None
    gpa_7d: float | None
    gates: tuple[str, ...]
    price_usd: float | None
    spread_bps: float | None
    bid_2_usd: float | None
    ask_2_usd: float | None
    imbalance: float | None
    slip_buy_10k_bps: float | None
    slip_sell_10k_bps: float | None
    median_spread_bps: float | None
    median_depth_usd: float | None
    volume_24h_usd: float | None
    uptime: float | None
    sampled_at: datetime | None

    @property
    def is_listed(self) -> bool:
        return self.status != "delisted"


@dataclass(frozen=True, slots=True)
class NoteNetwork:
    exchange: str
    chain: str
    can_deposit: bool | None
    can_withdraw: bool | None
    deposit_since: datetime
    withdraw_since: datetime
    withdraw_fee: float | None


@dataclass(frozen=True, slots=True)
class NoteEvent:
    """`kind`: what happened, in snake_case: it names the event's hub. `chain`: of a transfer;
    `title`, `url`: of the notice that declared it.
    """

    kind: str
    exchange: str
    at: datetime
    chain: str | None = None
    title: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class NoteWarning:
    """`outcome`: what another exchange declared, of a cross_exchange_flag."""

    exchange: str
    type: str
    severity: str
    issued_at: datetime
    outcome: NoteEvent | None = None


@dataclass(frozen=True, slots=True)
class NoteProject:
    """An approved value that an agent filled in for a listing."""

    field: str
    value: str
    exchange: str
    approved_at: datetime


@dataclass(frozen=True, slots=True)
class NoteGap:
    buy_exchange: str
    sell_exchange: str
    gross_bps: float | None
    net_1k_bps: float | None
    transfer: str
    is_actionable: bool
    suspect: str | None
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class NoteOnchain:
    chain: str
    supply: float | None
    holders: int | None
    top10_share: float | None
    transfers_24h: int | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFacts:
    """All that is known of a token. `is_known`: an exchange lists it, or did.

    `contracts`, `groups`, `links`: the identity graph over all exchanges; `related`: other tickers
    of the same contracts. `one_price_actionable_pct`: of looks at gaps above 25 bps in seven days,
    those that were actionable. `arb_hits_24h` None: no two exchanges are known to list one asset, so
    that nothing was compared. `is_simulated`: of a made-up world.
    """

    token: str
    is_known: bool = False
    is_simulated: bool = False
    grade: str | None = None
    grade_worst: str | None = None
    gpa_7d: float | None = None
    graded_venues: int = 0
    identity: str | None = None
    transfer: str | None = None
    asset_class: str | None = None
    exchanges: tuple[str, ...] = ()
    contracts: tuple[NoteContract, ...] = ()
    groups: tuple[NoteGroup, ...] = ()
    links: tuple[NoteLink, ...] = ()
    related: tuple[str, ...] = ()
    venues: tuple[NoteVenue, ...] = ()
    networks: tuple[NoteNetwork, ...] = ()
    warnings: tuple[NoteWarning, ...] = ()
    events: tuple[NoteEvent, ...] = ()
    project: tuple[NoteProject, ...] = ()
    gaps: tuple[NoteGap, ...] = ()
    arb_hits_24h: int | None = None
    one_price_actionable_pct: float | None = None
    onchain: tuple[NoteOnchain, ...] = ()
    claims: tuple[NoteClaim, ...] = ()
    track_record: NoteTrackRecord | None = None
