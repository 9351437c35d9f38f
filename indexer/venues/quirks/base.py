"""What ccxt does not say, or says as if it were known: per venue, read from the venue's own rows.

Laws
- A flag that a row does not have is None. ccxt reads the same row as open (gate) or closed (mexc,
  bybit), so networks and tags are never taken from ccxt's unified values.
- A currency without a chain stands on `unknown:<exchange>`, which joins nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from core.market.facts import MarketStatus, NoticeKind, NoticeScope
from indexer.venues.port import Capabilities
from indexer.venues.reading import Row, rows_in

STABLECOINS: Final = frozenset(
    (
        *("USDT", "USDC", "DAI", "TUSD", "FDUSD", "USDE", "PYUSD", "USDD", "USDP", "GUSD", "RLUSD"),
        *("EURC", "USD1", "USDG", "USDS", "EURI", "FRAX", "LUSD", "CRVUSD", "USDX", "XUSD", "USTC"),
    )
)


@dataclass(frozen=True, slots=True)
class MarketFlags:
    """Of a market's own row. `asset_class`: where the row says it."""

    status: MarketStatus | None = None
    has_st_tag: bool | None = None
    has_caution: bool | None = None
    asset_class: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """`chain`: as the venue writes it; None: it names none."""

    native_base: str
    chain: str | None
    can_deposit: bool | None
    can_withdraw: bool | None
    contract: str | None = None
    withdraw_fee: float | None = None


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """`kind` and `scope` None: the title says."""

    id: str | None
    title: str
    url: str | None
    published_at: datetime
    effective_at: datetime | None = None
    native_bases: tuple[str, ...] = ()
    kind: NoticeKind | None = None
    scope: NoticeScope | None = None


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call of the venue's own interface by ccxt's name of it. `rows`: the list in its answer;
    `ccxt_class`: another client than the venue's.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    rows: Callable[[object], list[object]] = lambda answer: rows_in(answer, 50_000)
    needs_key: bool = False
    ccxt_class: str | None = None


@dataclass(frozen=True, slots=True)
class NetworkCall:
    call: RawCall
    read: Callable[[Row], Iterator[NetworkRow]]
    tells_transfers: bool = True
    tells_chains: bool = True
    tells_contracts: bool = True


@dataclass(frozen=True, slots=True)
class NoticeCall:
    call: RawCall
    read: Callable[[Row], NoticeRow | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueQuirks:
    """`levels`: the numbers of levels that a book may be asked with, ascending; a book has at most
    the last. `tickers`: the venue's own ticker where this service uses another. `market_method`,
    `market_params`: how ccxt is asked for spot markets alone. `books_per_minute`: two thirds of what ccxt's throttle allows.
    """

    exchange: str
    flags: Callable[[Row], MarketFlags]
    levels: tuple[int, ...]
    books_per_minute: int
    options: Mapping[str, Any] = field(default_factory=dict)
    market_method: str = "fetch_markets"
    market_params: Mapping[str, Any] = field(default_factory=dict)
    networks: NetworkCall | None = None
    notices: tuple[NoticeCall, ...] = ()
    tickers: Mapping[str, str] = field(default_factory=dict)
    tells_st_tag: bool = False
    tells_caution: bool = False
    native_keys: tuple[str, str] | None = None  # of its row, where ccxt gives its own names as ids
    watch_levels: int | None = None  # asked of the websocket; None: what it gives
    has_websocket: bool = True
    names_pairs: bool = True  # a market has an id that stays
    books_a_call: int = 1

    def capabilities(self, *, has_keys: bool) -> Capabilities:
        usable = None
        if self.networks is not None and (has_keys or not self.networks.call.needs_key):
            usable = self.networks
        notices = [one for one in self.notices if has_keys or not one.call.needs_key]
        return Capabilities(
            currencies=usable is not None and usable.tells_transfers,
            networks=usable is not None and usable.tells_chains,
            contracts=usable is not None and usable.tells_contracts,
            notices=bool(notices),
            st_tag=self.tells_st_tag,
            caution=self.tells_caution,
            websocket=self.has_websocket,
            max_book_levels=self.levels[-1],
            books_a_call=self.books_a_call,
            books_per_minute=self.books_per_minute,
        )


def status_of(
    value: object,
    *,
    trading: tuple[str, ...],
    halted: tuple[str, ...],
    delisted: tuple[str, ...] = (),
) -> MarketStatus | None:
    """A word that the venue did not use before is unknown."""
    word = str(value).lower()
    if word in trading:
        return MarketStatus.TRADING
    if word in halted:
        return MarketStatus.HALTED
    return MarketStatus.DELISTED if word in delisted else None
