"""What ccxt does not say, or says as if it were known: read from the exchange's own rows, by the names
of their fields (venues.py).

Laws
- A flag that a row does not have is None. ccxt reads the same row as open (gate) or closed (mexc,
  bybit), so networks and tags are never taken from ccxt's unified values.
- A currency without a chain is on `unknown:<exchange>`, which joins nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from core.market.facts import MarketStatus, NoticeKind
from core.urls import is_https
from indexer.venues.port import Capabilities
from indexer.venues.reading import (
    Row,
    RowError,
    amount_in,
    at_path,
    flag_in,
    needed_text,
    opposite,
    row_of,
    rows_in,
    text_in,
    time_of_ms,
)

MAX_CHAINS: Final = 60  # of one currency
MAX_ROWS: Final = 50_000
MAX_CONTRACT: Final = 200  # characters

RowsIn: TypeAlias = Callable[[object], list[object]]


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
    """`kind` None: the title says."""

    id: str | None
    title: str
    url: str | None
    published_at: datetime
    effective_at: datetime | None = None
    native_bases: tuple[str, ...] = ()
    kind: NoticeKind | None = None


def rows_at(*keys: str, most: int = MAX_ROWS) -> RowsIn:
    """The list of rows at that place of an answer."""
    return lambda answer: rows_in(at_path(answer, *keys), most)


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call of the venue's own interface by ccxt's name of it. `rows`: the list in its answer;
    `ccxt_class`: another client than the venue's.
    """

    method: str
    params: Mapping[str, Any] = field(default_factory=dict)
    rows: RowsIn = field(default_factory=rows_at)
    needs_key: bool = False
    ccxt_class: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCall(RawCall):
    """Where the rows of currencies have what.

    `chains`: the list of a currency's networks, of which `or_itself` says that a row without one is
    a network itself; None: each row is. `chain`, `fee`: the first of these fields that is there;
    `after_coin`: the coin's name comes before that of the chain. `deposit` and `withdraw`: fields
    that say whether they are open, or closed with `says_closed`; `words`: where they have words.
    `state`: one field for both, with its words.
    """

    coin: str
    chains: str | None = None
    or_itself: bool = False
    chain: tuple[str, ...] = ()
    after_coin: bool = False
    deposit: str | None = None
    withdraw: str | None = None
    says_closed: bool = False
    words: Mapping[str, bool] | None = None
    state: tuple[str, Mapping[str, tuple[bool, bool]]] | None = None
    contract: str | None = None
    fee: tuple[str, ...] = ()

    @property
    def has_transfers(self) -> bool:
        return self.deposit is not None or self.state is not None

    def read(self, row: Row) -> Iterator[NetworkRow]:
        """Errors: RowError."""
        listed = None if self.chains is None else row.get(self.chains)
        found = [row_of(one) for one in rows_in([] if listed is None else listed, MAX_CHAINS)]
        if self.chains is None or (self.or_itself and not found):
            found = [row]
        for one in found:
            coin = needed_text(row, self.coin)
            chain = next((text for name in self.chain if (text := text_in(one, name))), None)
            if chain is not None and self.after_coin:
                chain = chain.removeprefix(f"{coin}-")
            fee = next((name for name in self.fee if name in one), "")
            yield NetworkRow(
                coin,
                chain,
                *self._transfers(one),
                None if self.contract is None else text_in(one, self.contract, MAX_CONTRACT),
                amount_in(one, fee),
            )

    def _transfers(self, row: Row) -> tuple[bool | None, bool | None]:
        if self.state is not None:
            name, words = self.state
            return words.get(str(row.get(name)), (None, None))
        return self._flag(row, self.deposit), self._flag(row, self.withdraw)

    def _flag(self, row: Row, name: str | None) -> bool | None:
        if name is None:
            return None
        if self.words is not None:
            return self.words.get(str(row.get(name)))
        flag = flag_in(row, name)
        return opposite(flag) if self.says_closed else flag


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeCall(RawCall):
    read: Callable[[Row], NoticeRow | None]


def notices_by(
    *,
    id: str | None = None,  # noqa: A002 (the field's own name)
    title: str = "title",
    url: str = "url",
    published: tuple[str, ...],
    effective: str = "",
    time_of: Callable[[object], datetime | None] = time_of_ms,
) -> Callable[[Row], NoticeRow]:
    """A reader of notices by the names of their fields; `published`: the first that is there."""

    def read(row: Row) -> NoticeRow:
        written, link = row.get(title), row.get(url)
        if not isinstance(written, str) or not written.strip():
            raise RowError("missing_title", title)
        at = time_of(next((row[name] for name in published if row.get(name)), None))
        if at is None:
            raise RowError("missing_time")
        return NoticeRow(
            None if id is None else text_in(row, id),
            written,
            link if isinstance(link, str) and is_https(link) else None,
            at,
            time_of_ms(row.get(effective)),
        )

    return read


def flags_by(
    status: str,
    *,
    trading: tuple[str, ...],
    halted: tuple[str, ...],
    delisted: tuple[str, ...] = (),
    st_tag: str | None = None,
    class_of: Callable[[Row], str | None] = lambda row: None,
) -> Callable[[Row], MarketFlags]:
    """A reader of markets by the words of their status. A word that the venue did not use before is
    unknown.
    """
    states = {
        **dict.fromkeys(trading, MarketStatus.TRADING),
        **dict.fromkeys(halted, MarketStatus.HALTED),
        **dict.fromkeys(delisted, MarketStatus.DELISTED),
    }
    return lambda row: MarketFlags(
        states.get(str(row.get(status)).lower()),
        has_st_tag=None if st_tag is None else flag_in(row, st_tag),
        asset_class=class_of(row),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueQuirks:
    """`levels`: the numbers of levels that a book may be asked with, ascending; a book has at most
    the last. `tickers`: the venue's own ticker where this service uses another. `market_method`,
    `market_params`: how ccxt is asked for spot markets alone. `books_per_minute`: two thirds of what
    ccxt's throttle allows.
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
        networks = self.networks
        if networks is not None and networks.needs_key and not has_keys:
            networks = None
        return Capabilities(
            currencies=networks is not None and networks.has_transfers,
            networks=networks is not None and bool(networks.chain),
            contracts=networks is not None and networks.contract is not None,
            notices=bool(self.notices),
            st_tag=self.tells_st_tag,
            caution=self.tells_caution,
            websocket=self.has_websocket,
            max_book_levels=self.levels[-1],
            books_a_call=self.books_a_call,
            books_per_minute=self.books_per_minute,
        )
