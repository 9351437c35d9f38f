"""A live exchange behind the port, through ccxt. Keys are optional and only read.

ccxt parses books and tickers; what it does not say of markets, networks and notices is
read from the venue's own rows (quirks/).
"""

import asyncio
import hashlib
import importlib
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from ccxt.base.errors import (
    BadResponse,
    BaseError,
    DDoSProtection,
    NetworkError,
    RateLimitExceeded,
    RequestTimeout,
)

from core.listings.rules import TICKER_PATTERN
from core.market.facts import (
    Book,
    DataSource,
    ListedMarket,
    NetworkStatus,
    Ticker,
    VenueFault,
    VenueNotice,
)
from indexer.venues.apart import ListReader
from indexer.venues.chains import chain_of, is_own_coin
from indexer.venues.port import (
    MAX_BOOK_BYTES,
    MAX_FAULTS,
    MAX_LEVELS,
    MAX_MARKETS,
    MAX_NETWORKS,
    MAX_NOTICES,
    MAX_TITLE,
    Capabilities,
    Parsed,
    VenueError,
    VenueErrorReason,
)
from indexer.venues.quirks.rows import NetworkRow, NoticeRow, RawCall
from indexer.venues.quirks.titles import bases_in, kind_of, scope_of
from indexer.venues.quirks.venues import QUIRKS, STABLECOINS
from indexer.venues.reading import (
    UNEXPECTED_SHAPES,
    Row,
    RowError,
    about_row,
    needed_text,
    number_of,
    of_rows,
    parsed,
    positive_in,
    row_of,
    rows_in,
    shortened,
    side_of,
    smallest_of,
    time_of_ms,
    volume_of,
)
from indexer.venues.transport import VenueTransport, client_class, most_characters

CALL_S: Final = 20.0  # a call with all its requests
MOST_TAKER_FEE: Final = 0.05  # of what is taken; a greater one is a figure of another unit
WATCH_S: Final = 90.0  # without a change: a thin book may be quiet for as long
REQUEST_MS: Final = 10_000
_TICKER: Final = re.compile(TICKER_PATTERN)
_QUERY: Final = re.compile(r"\?\S*")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, repr=False)
class VenueKeys:
    """Of an account with permission to read, and nothing else."""

    api_key: str
    secret: str
    password: str = ""


class CcxtVenue:
    def __init__(
        self,
        exchange: str,
        transport: VenueTransport,
        now: Callable[[], datetime],
        *,
        keys: VenueKeys | None = None,
        is_paced: bool = True,
    ) -> None:
        """`is_paced`: calls keep the distance that the exchange asks for."""
        self.exchange, self.source = exchange, DataSource.LIVE
        self._quirks = QUIRKS[exchange]
        self.capabilities: Capabilities = self._quirks.capabilities(has_keys=keys is not None)
        self._transport, self._now = transport, now
        # The key goes to the calls alone that need one.
        self._keys = keys
        self._client = _client(exchange, transport, now, self._quirks.options, None, is_paced)
        self._lists = ListReader(
            lambda over: _client(exchange, over, now, self._quirks.options, None, False),
            transport,
            self._client.throttle if is_paced else _at_once,
        )
        self._others: dict[str, Any] = {}
        self._is_paced = is_paced
        self._symbols: dict[str, str] = {}  # native id -> ccxt's symbol
        self._ids: dict[str, str] = {}
        self._bases: frozenset[str] = frozenset()

    async def markets(self) -> Parsed[ListedMarket]:
        wanted = (self._quirks.market_method, dict(self._quirks.market_params))
        found = await self._call(self._lists.call(*wanted))
        rows = self._listed(found, MAX_MARKETS * 4)
        spot = [one for one in rows if not isinstance(one, dict) or one.get("spot") is True]
        if len(spot) > MAX_MARKETS:
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, f"{len(spot)} markets")
        answer = await self._lists.read(
            lambda: parsed(
                spot,
                lambda one: (self._market(one), row_of(one)),
                lambda one: row_of(one).get("id"),
            )
        )
        if spot and not answer.values:
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, "no market can be read")
        self._known(row for _, row in answer.values)
        return Parsed(tuple(market for market, _ in answer.values), answer.faults)

    async def networks(self) -> Parsed[NetworkStatus] | None:
        wanted = self._quirks.networks
        if wanted is None or (wanted.needs_key and self._keys is None):
            return None
        rows = await self._raw(wanted)
        answer = await self._lists.read(
            lambda: parsed(
                rows,
                lambda row: [self._network(one) for one in wanted.read(row_of(row))],
                about_row,
            )
        )
        statuses = tuple(one for group in answer.values for one in group)
        if len(statuses) > MAX_NETWORKS or (rows and not statuses):
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, f"{len(statuses)} networks")
        return Parsed(statuses, answer.faults)

    async def tickers(self) -> Parsed[Ticker]:
        await self._needed()
        found = await self._call(self._lists.call("fetch_tickers"))
        rows = row_of(found) if isinstance(found, dict) else {}
        known = [one for symbol, one in rows.items() if symbol in self._ids][:MAX_MARKETS]
        answer = await self._lists.read(
            lambda: parsed(known, self._ticker, lambda one: row_of(one).get("symbol"))
        )
        if not answer.values:
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, "no ticker of a known market")
        return answer

    async def book(self, native_id: str, levels: int) -> Book:
        symbol = await self._symbol(native_id)
        limit = self._limit(levels)
        found = await self._of_books(self._client.fetch_order_book(symbol, limit))
        return self._understood(lambda: self._book(native_id, found, limit))

    async def books(self, native_ids: tuple[str, ...], levels: int) -> Parsed[Book]:
        if len(native_ids) > self.capabilities.books_a_call:
            raise self._error(VenueErrorReason.REFUSED, "too many order books for one call")
        if self.capabilities.books_a_call == 1:
            return Parsed(tuple([await self.book(one, levels) for one in native_ids]))
        symbols = {await self._symbol(one): one for one in native_ids}
        limit = self._limit(levels)
        found = await self._of_books(self._client.fetch_order_books(list(symbols), limit))
        rows = self._understood(lambda: row_of(found))
        missing = [
            VenueFault("no_book", one) for symbol, one in symbols.items() if symbol not in rows
        ]
        there = [(one, rows[symbol]) for symbol, one in symbols.items() if symbol in rows]
        answer = parsed(there, lambda one: self._book(one[0], one[1], limit), lambda one: one[0])
        return Parsed(answer.values, (*missing, *answer.faults))

    async def notices(self, since: datetime) -> Parsed[VenueNotice] | None:
        if not self.capabilities.notices:
            return None
        await self._needed()
        now = self._now()
        values: dict[str, VenueNotice] = {}
        faults: list[VenueFault] = []
        for wanted in self._quirks.notices:
            rows = await self._raw(wanted)
            answer = parsed(rows, of_rows(wanted.read), about_row)
            faults += answer.faults
            for read in answer.values:
                if read is not None and since <= read.published_at <= now:
                    notice = self._notice(read)
                    values[notice.id] = notice
        ordered = sorted(values.values(), key=lambda one: (one.published_at, one.id))
        return Parsed(tuple(ordered[:MAX_NOTICES]), tuple(faults[:MAX_FAULTS]))

    def taker_fee_bps(self, native_id: str) -> float | None:
        """ccxt's `taker` of the market: what the venue's own row says, or else the first tier of the
        venue's schedule as ccxt has it (`fees.trading.taker`, `fees.spot`; each class names the
        venue's page of fees in `urls.fees`).
        """
        symbol = self._symbols.get(native_id)
        found = None if symbol is None else number_of(self._client.market(symbol).get("taker"))
        return found * 1e4 if found is not None and 0 <= found <= MOST_TAKER_FEE else None

    async def watch_book(self, native_id: str) -> AsyncGenerator[Book, None]:
        if not self.capabilities.websocket:
            raise self._error(VenueErrorReason.REFUSED, "no websocket")
        symbol = await self._symbol(native_id)
        client = self._watching()
        try:
            while True:
                watched = client.watch_order_book(symbol, self._quirks.watch_levels)
                found = await self._call(watched, WATCH_S)
                yield self._understood(partial(self._book, native_id, found, None))
        finally:
            await client.close()

    async def close(self) -> None:
        self._lists.close()
        for client in (self._client, *self._others.values()):
            await client.close()
        await self._transport.close()

    def _watching(self) -> Any:
        """A client with a connection of its own: closing it is the one way that ends every
        exchange's subscription, and what breaks it breaks no other call.
        """
        made = _client(
            self.exchange, self._transport, self._now, self._quirks.options, None, self._is_paced
        )
        made.open()  # or it has no loop for what it asks by REST before it connects, as of KuCoin
        return made.set_markets_from_exchange(self._client)

    # --- calls

    async def _call(self, called: Awaitable[T], within_s: float = CALL_S) -> T:
        try:
            async with asyncio.timeout(within_s):
                return await called
        except (RequestTimeout, TimeoutError) as error:
            raise self._error(VenueErrorReason.TIMEOUT, error) from error
        except (RateLimitExceeded, DDoSProtection) as error:
            raise self._error(VenueErrorReason.RATE_LIMITED, error) from error
        except NetworkError as error:
            raise self._error(VenueErrorReason.UNREACHABLE, error) from error
        except BadResponse as error:
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, error) from error
        except BaseError as error:
            raise self._error(VenueErrorReason.REFUSED, error) from error
        except (*UNEXPECTED_SHAPES, RecursionError) as error:
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, type(error).__name__) from error

    async def _of_books(self, called: Awaitable[T]) -> T:
        before = most_characters.set(MAX_BOOK_BYTES)
        try:
            return await self._call(called)
        finally:
            most_characters.reset(before)

    async def _raw(self, call: RawCall) -> list[object]:
        client = self._client
        if call.ccxt_class is not None or call.needs_key:
            name = call.ccxt_class or self.exchange
            if name not in self._others:
                options = {} if call.ccxt_class else self._quirks.options
                keys = self._keys if call.needs_key else None
                self._others[name] = _client(
                    name, self._transport, self._now, options, keys, self._is_paced
                )
            client = self._others[name]
        found = await self._call(getattr(client, call.method)(dict(call.params)))
        return self._understood(lambda: call.rows(found))

    def _understood(self, read: Callable[[], R]) -> R:
        try:
            return read()
        except RowError as error:
            detail = f"{error.what} {error.about}".strip()
            raise self._error(VenueErrorReason.NOT_UNDERSTOOD, detail) from error

    def _listed(self, found: object, limit: int) -> list[object]:
        return self._understood(lambda: rows_in(found, limit))

    def _error(self, reason: VenueErrorReason, detail: object) -> VenueError:
        """Without the query of a URL, which holds the key and the signature of a private call."""
        return VenueError(reason, self.exchange, shortened(_QUERY.sub("", str(detail)), 300))

    # --- markets

    async def _needed(self) -> None:
        if not self._symbols:
            await self.markets()

    async def _symbol(self, native_id: str) -> str:
        await self._needed()
        symbol = self._symbols.get(native_id)
        if symbol is None:
            raise self._error(VenueErrorReason.REFUSED, f"no market {shortened(native_id)}")
        return symbol

    def _known(self, rows: Iterable[Row]) -> None:
        """Tell ccxt of the markets that could be read, each with a symbol of its own: where two have
        one, the second keeps its id as its symbol.
        """
        self._symbols, self._ids, listed = {}, {}, []
        for one in rows:
            row = dict(one)
            native_id = self._native_id(row)
            if row["symbol"] in self._ids:
                row["symbol"] = native_id
            self._symbols[native_id] = row["symbol"]
            self._ids[row["symbol"]] = native_id
            listed.append(row)
        self._bases = frozenset(self._natives(one)[0] for one in listed)
        self._client.set_markets(listed)
        self._lists.client.set_markets_from_exchange(self._client)

    def _native_id(self, row: Row) -> str:
        if self._quirks.names_pairs:
            return needed_text(row, "id")
        return f"{needed_text(row, 'baseId')}/{needed_text(row, 'quoteId')}"

    def _natives(self, row: Row) -> tuple[str, str]:
        base, quote = self._quirks.native_keys or ("baseId", "quoteId")
        source = row_of(row.get("info")) if self._quirks.native_keys else row
        return needed_text(source, base), needed_text(source, quote)

    def _market(self, value: object) -> ListedMarket:
        row = row_of(value)
        info = row.get("info")
        flags = self._quirks.flags(info if isinstance(info, dict) else {})
        native_base, native_quote = self._natives(row)
        base, quote = self._ticker_of(native_base), self._ticker_of(native_quote)
        is_stable = base in STABLECOINS
        return ListedMarket(
            exchange=self.exchange,
            native_id=self._native_id(row),
            native_base=native_base,
            base=base,
            quote=quote,
            status=flags.status,
            asset_class="stablecoin" if is_stable else flags.asset_class,
            has_st_tag=flags.has_st_tag,
            has_caution=flags.has_caution,
            listed_at=time_of_ms(row.get("created")),
            min_size_quote=smallest_of(row),
        )

    def _ticker_of(self, native: str) -> str:
        """Errors: RowError for one that could not stand in a path."""
        ticker = self._quirks.tickers.get(native, native).upper()
        if not _TICKER.fullmatch(ticker):
            raise RowError("unusable_ticker", native)
        return ticker

    def _network(self, one: NetworkRow) -> NetworkStatus:
        chain = f"unknown:{self.exchange}" if one.chain is None else chain_of(one.chain)
        ticker = self._quirks.tickers.get(one.native_base, one.native_base).upper()
        return NetworkStatus(
            exchange=self.exchange,
            native_base=one.native_base,
            chain=chain,
            can_deposit=one.can_deposit,
            can_withdraw=one.can_withdraw,
            contract=one.contract,
            is_native=one.contract is None and is_own_coin(chain, ticker),
            withdraw_fee=one.withdraw_fee,
        )

    # --- values

    def _ticker(self, value: object) -> Ticker:
        row = row_of(value)
        return Ticker(
            exchange=self.exchange,
            native_id=self._ids[str(row.get("symbol"))],
            last=positive_in(row, "last"),
            bid=positive_in(row, "bid"),
            ask=positive_in(row, "ask"),
            volume_24h_quote=volume_of(row),
            at=time_of_ms(row.get("timestamp")),
        )

    def _limit(self, levels: int) -> int:
        """The least that the venue may be asked for and that is enough."""
        return next((one for one in self._quirks.levels if one >= levels), self._quirks.levels[-1])

    def _book(self, native_id: str, value: object, limit: int | None) -> Book:
        row = row_of(value)
        bids, asks = side_of(row.get("bids")), side_of(row.get("asks"))
        most = min(limit or self.capabilities.max_book_levels, MAX_LEVELS)
        return Book(
            exchange=self.exchange,
            native_id=native_id,
            bids=bids[:MAX_LEVELS],
            asks=asks[:MAX_LEVELS],
            at=time_of_ms(row.get("timestamp")),
            received_at=self._now(),
            is_truncated=max(len(bids), len(asks)) >= most,
        )

    def _notice(self, read: NoticeRow) -> VenueNotice:
        title = shortened(read.title, MAX_TITLE)
        notice_id = (
            read.id
            or hashlib.sha256(
                f"{read.published_at.isoformat()}\x1f{read.title}".encode("utf-8", "replace")
            ).hexdigest()
        )
        return VenueNotice(
            exchange=self.exchange,
            id=shortened(notice_id),
            kind=read.kind or kind_of(title),
            scope=scope_of(title),
            native_bases=read.native_bases or bases_in(title, self._bases),
            title=title,
            url=read.url,
            published_at=read.published_at,
            effective_at=read.effective_at,
        )


async def _at_once() -> None:
    """A test's answers have no pace."""


def _client(
    name: str,
    transport: VenueTransport,
    now: Callable[[], datetime],
    options: Mapping[str, Any],
    keys: VenueKeys | None,
    is_paced: bool,
) -> Any:
    made = client_class(getattr(importlib.import_module(f"ccxt.pro.{name}"), name), transport, now)
    settings: dict[str, Any] = {
        "enableRateLimit": is_paced,
        "timeout": REQUEST_MS,
        "options": {"warnOnFetchOpenOrdersWithoutSymbol": False, **options},
    }
    if keys is not None:
        settings |= {"apiKey": keys.api_key, "secret": keys.secret, "password": keys.password}
    return made(settings)
