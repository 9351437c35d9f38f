"""binance, bybit, okx, kucoin, gate, bitget, mexc: their own rows."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from core.market.facts import MarketStatus, NoticeKind
from core.urls import is_https
from indexer.venues.quirks.base import (
    MarketFlags,
    NetworkCall,
    NetworkRow,
    NoticeCall,
    NoticeRow,
    RawCall,
    VenueQuirks,
    status_of,
)
from indexer.venues.reading import (
    Row,
    RowError,
    amount_in,
    at_path,
    flag_in,
    needed_text,
    number_in,
    opposite,
    row_of,
    rows_in,
    text_in,
    time_of_ms,
    time_of_s,
)

_SPOT: Final = {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}}
MAX_CHAINS: Final = 60  # of one currency
MAX_CURRENCIES: Final = 20_000
MAX_NOTICE_ROWS: Final = 500


def _chains(row: Row, key: str) -> Iterator[Row]:
    """None where the venue knows no chain."""
    found = row.get(key)
    return (row_of(one) for one in rows_in([] if found is None else found, MAX_CHAINS))


def _title(row: Row, key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RowError("missing_title", key)
    return value


def _url(row: Row, key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) and is_https(value) else None


def _dated(at: datetime | None) -> datetime:
    if at is None:
        raise RowError("missing_time")
    return at


# --- binance


def _binance_flags(row: Row) -> MarketFlags:
    return MarketFlags(
        status_of(
            row.get("status"),
            trading=("trading",),
            halted=("break", "halt", "end_of_day", "pre_trading", "post_trading", "auction_match"),
        )
    )


def _binance_networks(row: Row) -> Iterator[NetworkRow]:
    for one in _chains(row, "networkList"):
        yield NetworkRow(
            needed_text(row, "coin"),
            text_in(one, "network"),
            flag_in(one, "depositEnable"),
            flag_in(one, "withdrawEnable"),
            text_in(one, "contractAddress", 200),
            amount_in(one, "withdrawFee"),
        )


BINANCE: Final = VenueQuirks(
    exchange="binance",
    flags=_binance_flags,
    levels=(5, 10, 20, 50, 100, 500),
    watch_levels=100,  # of the snapshot that the changes continue; ccxt asks for 1,000 else
    books_per_minute=800,
    options={**_SPOT, "fetchMargins": False},
    networks=NetworkCall(RawCall("sapiGetCapitalConfigGetall", needs_key=True), _binance_networks),
)

# --- bybit


def _bybit_flags(row: Row) -> MarketFlags:
    kind = str(row.get("symbolType", "")).lower()
    return MarketFlags(
        status_of(
            row.get("status"), trading=("trading",), halted=("prelaunch", "settling", "delivering"),
            delisted=("closed",),
        ),
        has_st_tag=flag_in(row, "stTag"),
        asset_class="tokenised_equity" if kind in ("xstocks", "stock") else "crypto" if "symbolType" in row else None,
    )  # fmt: skip


def _bybit_networks(row: Row) -> Iterator[NetworkRow]:
    for one in _chains(row, "chains"):
        yield NetworkRow(
            needed_text(row, "coin"),
            text_in(one, "chain"),
            flag_in(one, "chainDeposit"),
            flag_in(one, "chainWithdraw"),
            text_in(one, "contractAddress", 200),
            amount_in(one, "withdrawFee"),
        )


def _bybit_notice(row: Row) -> NoticeRow:
    return NoticeRow(
        None,
        _title(row, "title"),
        _url(row, "url"),
        _dated(time_of_ms(row.get("publishTime") or row.get("dateTimestamp"))),
        time_of_ms(row.get("startDateTimestamp")),
    )


BYBIT: Final = VenueQuirks(
    exchange="bybit",
    flags=_bybit_flags,
    levels=(50, 200),
    watch_levels=200,  # 50 without
    books_per_minute=400,
    options=_SPOT,
    tells_st_tag=True,
    networks=NetworkCall(
        RawCall(
            "privateGetV5AssetCoinQueryInfo",
            rows=lambda answer: rows_in(at_path(answer, "result", "rows"), MAX_CURRENCIES),
            needs_key=True,
        ),
        _bybit_networks,
        tells_contracts=False,
    ),
    notices=(
        NoticeCall(
            RawCall(
                "publicGetV5AnnouncementsIndex",
                {"locale": "en-US", "type": "delistings", "limit": 50},
                lambda answer: rows_in(at_path(answer, "result", "list"), MAX_NOTICE_ROWS),
            ),
            _bybit_notice,
        ),
    ),
)

# --- okx


def _okx_flags(row: Row) -> MarketFlags:
    return MarketFlags(
        status_of(
            row.get("state"), trading=("live",), halted=("suspend", "preopen", "test", "post_only")
        )
    )


def _okx_networks(row: Row) -> Iterator[NetworkRow]:
    coin, written = needed_text(row, "ccy"), text_in(row, "chain")
    yield NetworkRow(
        coin,
        written.removeprefix(f"{coin}-") if written else None,
        flag_in(row, "canDep"),
        flag_in(row, "canWd"),
        text_in(row, "ctAddr", 200),
        amount_in(row, "fee") if "fee" in row else amount_in(row, "minFee"),
    )


def _okx_notice_rows(answer: object) -> list[object]:
    pages = rows_in(at_path(answer, "data"), 10)
    return [one for page in pages for one in rows_in(at_path(page, "details"), MAX_NOTICE_ROWS)]


def _okx_notice(row: Row) -> NoticeRow:
    return NoticeRow(
        None,
        _title(row, "title"),
        _url(row, "url"),
        _dated(time_of_ms(row.get("pTime"))),
        time_of_ms(row.get("businessPTime")),
    )


OKX: Final = VenueQuirks(
    exchange="okx",
    flags=_okx_flags,
    levels=(5, 20, 50, 100, 400),
    books_per_minute=720,
    options=_SPOT,
    networks=NetworkCall(
        RawCall(
            "privateGetAssetCurrencies",
            rows=lambda answer: rows_in(at_path(answer, "data"), MAX_CURRENCIES),
            needs_key=True,
        ),
        _okx_networks,
    ),
    notices=(
        NoticeCall(
            RawCall(
                "publicGetSupportAnnouncements",
                {"annType": "announcements-delistings"},
                _okx_notice_rows,
            ),
            _okx_notice,
        ),
    ),
)

# --- kucoin


def _kucoin_flags(row: Row) -> MarketFlags:
    is_trading = flag_in(row, "enableTrading")
    status = {True: MarketStatus.TRADING, False: MarketStatus.HALTED, None: None}[is_trading]
    return MarketFlags(status, has_st_tag=flag_in(row, "st"))


def _kucoin_networks(row: Row) -> Iterator[NetworkRow]:
    for one in _chains(row, "chains"):
        yield NetworkRow(
            needed_text(row, "currency"),
            text_in(one, "chainName") or text_in(one, "chainId"),
            flag_in(one, "isDepositEnabled"),
            flag_in(one, "isWithdrawEnabled"),
            text_in(one, "contractAddress", 200),
            amount_in(one, "withdrawalMinFee"),
        )


def _kucoin_notice(row: Row) -> NoticeRow:
    return NoticeRow(
        text_in(row, "annId"),
        _title(row, "annTitle"),
        _url(row, "annUrl"),
        _dated(time_of_ms(row.get("cTime"))),
    )


KUCOIN: Final = VenueQuirks(
    exchange="kucoin",
    flags=_kucoin_flags,
    levels=(20, 100),
    books_per_minute=1_300,
    options={
        "defaultType": "spot",
        "fetchMarkets": {"types": ["spot"], "fetchTickersFees": False},
    },
    tells_st_tag=True,
    networks=NetworkCall(
        RawCall(
            "publicGetCurrencies",
            rows=lambda answer: rows_in(at_path(answer, "data"), MAX_CURRENCIES),
        ),
        _kucoin_networks,
    ),
    notices=(
        NoticeCall(
            RawCall(
                "publicGetAnnouncements",
                {"annType": "delistings", "lang": "en_US", "pageSize": 50},
                lambda answer: rows_in(at_path(answer, "data", "items"), MAX_NOTICE_ROWS),
            ),
            _kucoin_notice,
        ),
    ),
)

# --- gate


def _gate_flags(row: Row) -> MarketFlags:
    ends = number_in(row, "delisting_time")
    status = status_of(
        row.get("trade_status"), trading=("tradable", "buyable", "sellable"), halted=("untradable",)
    )
    if ends and ends > 0 and status is MarketStatus.HALTED:
        status = MarketStatus.DELISTED
    return MarketFlags(status, has_st_tag=flag_in(row, "st_tag"))


def _gate_networks(row: Row) -> Iterator[NetworkRow]:
    chains = list(_chains(row, "chains"))
    coin = needed_text(row, "currency")
    for one in chains:
        yield NetworkRow(
            coin,
            text_in(one, "name"),
            opposite(flag_in(one, "deposit_disabled")),
            opposite(flag_in(one, "withdraw_disabled")),
            text_in(one, "addr", 200),
        )
    if not chains:
        yield NetworkRow(
            coin,
            text_in(row, "chain"),
            opposite(flag_in(row, "deposit_disabled")),
            opposite(flag_in(row, "withdraw_disabled")),
        )


def _gate_notice(row: Row) -> NoticeRow | None:
    """A pair's row tells when it ends; not when that was announced."""
    ends = time_of_s(row.get("delisting_time"))
    if ends is None:
        return None
    base = needed_text(row, "base")
    title = f"Delisting scheduled: {needed_text(row, 'id')} on {ends.astimezone(UTC):%Y-%m-%d}"
    return NoticeRow(
        f"pair-{needed_text(row, 'id')}"[:80], title, None, ends, ends, (base,), NoticeKind.DELISTED
    )


GATE: Final = VenueQuirks(
    exchange="gate",
    flags=_gate_flags,
    levels=(10, 20, 50, 100, 500),
    watch_levels=400,  # the other is 50
    books_per_minute=800,
    options=_SPOT,
    tells_st_tag=True,
    networks=NetworkCall(RawCall("publicSpotGetCurrencies"), _gate_networks),
    notices=(NoticeCall(RawCall("publicSpotGetCurrencyPairs"), _gate_notice),),
)

# --- bitget


def _bitget_flags(row: Row) -> MarketFlags:
    return MarketFlags(
        status_of(
            row.get("status"), trading=("online",), halted=("gray", "halt"), delisted=("offline",)
        )
    )


def _bitget_networks(row: Row) -> Iterator[NetworkRow]:
    for one in _chains(row, "chains"):
        yield NetworkRow(
            needed_text(row, "coin"),
            text_in(one, "chain"),
            flag_in(one, "rechargeable"),
            flag_in(one, "withdrawable"),
            text_in(one, "contractAddress", 200),
            amount_in(one, "withdrawFee"),
        )


def _bitget_notice(row: Row) -> NoticeRow:
    return NoticeRow(
        text_in(row, "annId"),
        _title(row, "annTitle"),
        _url(row, "annUrl"),
        _dated(time_of_ms(row.get("cTime"))),
    )


BITGET: Final = VenueQuirks(
    exchange="bitget",
    flags=_bitget_flags,
    levels=(5, 15, 50, 150),
    books_per_minute=800,
    options={**_SPOT, "uta": False},
    networks=NetworkCall(
        RawCall(
            "publicSpotGetV2SpotPublicCoins",
            rows=lambda answer: rows_in(at_path(answer, "data"), MAX_CURRENCIES),
        ),
        _bitget_networks,
    ),
    notices=(
        NoticeCall(
            RawCall(
                "publicCommonGetV2PublicAnnoucements",
                {"annType": "symbol_delisting", "language": "en_US"},
                lambda answer: rows_in(at_path(answer, "data"), MAX_NOTICE_ROWS),
            ),
            _bitget_notice,
        ),
    ),
)

# --- mexc


def _mexc_flags(row: Row) -> MarketFlags:
    return MarketFlags(
        status_of(
            row.get("status"),
            trading=("1", "enabled"),
            halted=("2", "pause"),
            delisted=("3", "offline"),
        ),
        has_st_tag=flag_in(row, "st"),
    )


def _mexc_networks(row: Row) -> Iterator[NetworkRow]:
    for one in _chains(row, "networkList"):
        yield NetworkRow(
            needed_text(row, "coin"),
            text_in(one, "network") or text_in(one, "netWork"),
            flag_in(one, "depositEnable"),
            flag_in(one, "withdrawEnable"),
            text_in(one, "contract", 200),
            amount_in(one, "withdrawFee"),
        )


MEXC: Final = VenueQuirks(
    exchange="mexc",
    market_method="fetch_spot_markets",
    flags=_mexc_flags,
    levels=(100, 500),
    books_per_minute=260,
    has_websocket=False,  # its frames are protobuf, for which ccxt wants a package beside it
    options=_SPOT,
    tells_st_tag=True,
    networks=NetworkCall(
        RawCall("spotPrivateGetCapitalConfigGetall", needs_key=True), _mexc_networks
    ),
)
