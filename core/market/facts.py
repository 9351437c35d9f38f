"""What a venue says, parsed, and what is measured of it: the values that venues return, measures
take and tables hold.

Units: prices and sizes as the venue gives them, in its quote currency; `_usd` in US dollars;
`_bps` 1e-4. Statistics over market data are float64, never money that is charged or paid
(docs/market.md). Unknown is None: not open, not closed, not zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class DataSource(StrEnum):
    """Where a value comes from; simulated data says so wherever it is shown."""

    LIVE = "live"
    SIMULATED = "simulated"


class MarketStatus(StrEnum):
    TRADING = "trading"
    HALTED = "halted"  # the pair is listed, and no order is matched
    DELISTED = "delisted"


class NoticeKind(StrEnum):
    """What a venue's notice declares; `MAINTENANCE` is routine work on a wallet or network, `UNSURE`
    has words that contradict each other.
    """

    ST_TAG = "st_tag"
    CAUTION = "caution_designation"
    DELIST = "delist_notice"
    SUSPEND = "suspend_notice"
    DELISTED = "delisting_confirmed"
    RESUME = "resume_notice"
    MAINTENANCE = "maintenance"
    QUOTE_PAIR_REMOVAL = "quote_pair_removal"
    OTHER = "other"
    UNSURE = "unsure"


class NoticeScope(StrEnum):
    SPOT = "spot"
    MARGIN = "margin"
    FUTURES = "futures"
    LOAN = "loan"


@dataclass(frozen=True, slots=True)
class ListedMarket:
    """A spot pair as a venue lists it. `native_*`: exactly as the venue writes it; base and quote:
    the tickers that this service uses (core.listings.rules.Symbol), of the native ones, never of
    names. `asset_class`: crypto, stablecoin, tokenised_equity; None: unknown.
    """

    exchange: str
    native_id: str
    native_base: str
    base: str
    quote: str
    status: MarketStatus | None
    asset_class: str | None
    has_st_tag: bool | None
    has_caution: bool | None
    listed_at: datetime | None
    min_size_quote: float | None


@dataclass(frozen=True, slots=True)
class NetworkStatus:
    """A currency on one chain at one venue. `chain`: CAIP-2 (`eip155:1`), or `unknown:<raw>`, which
    never joins another's. `contract`: as the venue writes it; None: unknown; "" never.
    `is_native`: the chain's own coin.
    """

    exchange: str
    native_base: str
    chain: str
    can_deposit: bool | None
    can_withdraw: bool | None
    contract: str | None
    is_native: bool
    withdraw_fee: float | None


@dataclass(frozen=True, slots=True)
class Ticker:
    exchange: str
    native_id: str
    last: float | None
    bid: float | None
    ask: float | None
    volume_24h_quote: float | None
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Book:
    """Levels (price, size), best first, as received: not judged yet. `at`: the venue's own time.
    `is_truncated`: the venue gave as many levels as it ever gives, so there may be more.
    """

    exchange: str
    native_id: str
    bids: tuple[tuple[float, float], ...]
    asks: tuple[tuple[float, float], ...]
    at: datetime | None
    received_at: datetime
    is_truncated: bool


@dataclass(frozen=True, slots=True)
class VenueNotice:
    """`id`: the venue's own, or a hash of what it said. `native_bases`: those it names."""

    exchange: str
    id: str
    kind: NoticeKind
    scope: NoticeScope
    native_bases: tuple[str, ...]
    title: str
    url: str | None
    published_at: datetime
    effective_at: datetime | None


@dataclass(frozen=True, slots=True)
class VenueFault:
    """One thing of a venue's answer that could not be taken; the rest was. `what`: a reason in
    snake_case; `about`: the market or currency, shortened.
    """

    what: str
    about: str
    detail: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OnchainFigures:
    """What a chain says of a token. `supply`: in whole tokens. `top10_share`: of the supply that its
    ten largest holders have, 0 to 1.
    """

    chain: str
    supply: float
    holders: int
    top10_share: float
    transfers_24h: int
    at: datetime
