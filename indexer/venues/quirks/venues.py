"""The exchanges that can be read live: what their own rows are called, and how they are asked."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from core.market.facts import MarketStatus, NoticeKind
from indexer.venues.quirks.rows import (
    MarketFlags,
    NetworkCall,
    NoticeCall,
    NoticeRow,
    VenueQuirks,
    flags_by,
    notices_by,
    rows_at,
)
from indexer.venues.reading import (
    Row,
    RowError,
    at_path,
    flag_in,
    needed_text,
    number_in,
    row_of,
    rows_in,
    time_of_s,
)

STABLECOINS: Final = frozenset(
    (
        *("USDT", "USDC", "DAI", "TUSD", "FDUSD", "USDE", "PYUSD", "USDD", "USDP", "GUSD", "RLUSD"),
        *("EURC", "USD1", "USDG", "USDS", "EURI", "FRAX", "LUSD", "CRVUSD", "USDX", "XUSD", "USTC"),
    )
)
KOREA: Final = timezone(timedelta(hours=9))
MAX_CURRENCIES: Final = 20_000
MAX_NOTICE_ROWS: Final = 500
_SPOT: Final = {"defaultType": "spot", "fetchMarkets": {"types": ["spot"]}}


def _bybit_class(row: Row) -> str | None:
    if str(row.get("symbolType", "")).lower() in ("xstocks", "stock"):
        return "tokenised_equity"
    return "crypto" if "symbolType" in row else None


def _okx_notices(answer: object) -> list[object]:
    pages = rows_in(at_path(answer, "data"), 10)
    return [one for page in pages for one in rows_in(at_path(page, "details"), MAX_NOTICE_ROWS)]


def _kucoin_flags(row: Row) -> MarketFlags:
    states = {True: MarketStatus.TRADING, False: MarketStatus.HALTED, None: None}
    return MarketFlags(states[flag_in(row, "enableTrading")], has_st_tag=flag_in(row, "st"))


_gate_states = flags_by(
    "trade_status",
    trading=("tradable", "buyable", "sellable"),
    halted=("untradable",),
    st_tag="st_tag",
)


def _gate_flags(row: Row) -> MarketFlags:
    found, ends = _gate_states(row), number_in(row, "delisting_time")
    if ends and ends > 0 and found.status is MarketStatus.HALTED:
        return MarketFlags(MarketStatus.DELISTED, has_st_tag=found.has_st_tag)
    return found


def _gate_notice(row: Row) -> NoticeRow | None:
    """A pair's row says when it ends; not when that was announced."""
    ends = time_of_s(row.get("delisting_time"))
    if ends is None:
        return None
    base, pair = needed_text(row, "base"), needed_text(row, "id")
    title = f"Delisting scheduled: {pair} on {ends.astimezone(UTC):%Y-%m-%d}"
    kind = NoticeKind.DELISTED
    return NoticeRow(f"pair-{pair}"[:80], title, None, ends, ends, (base,), kind)


def _upbit_flags(row: Row) -> MarketFlags:
    """`market_event.warning` is the designation that may end in a delisting; `caution` holds five
    alerts that pass.
    """
    event = row.get("market_event")
    return MarketFlags(has_caution=flag_in(event, "warning") if isinstance(event, dict) else None)


def _bithumb_flags(row: Row) -> MarketFlags:
    word = row.get("market_warning")
    return MarketFlags(has_caution={"NONE": False, "CAUTION": True}.get(str(word)))


def _korean_time(value: object) -> datetime:
    """`2026-11-20 14:00:00`, as clocks in Korea show it."""
    try:
        return (
            datetime.strptime(str(value)[:19].replace("T", " "), "%Y-%m-%d %H:%M:%S")
            .replace(tzinfo=KOREA)
            .astimezone(UTC)
        )
    except ValueError:
        raise RowError("missing_time", value) from None


def _coinbase_flags(row: Row) -> MarketFlags:
    if str(row.get("status")).lower() == "delisted":
        return MarketFlags(MarketStatus.DELISTED)
    stops = ("trading_disabled", "is_disabled", "cancel_only", "view_only")
    if any(flag_in(row, one) for one in stops):
        return MarketFlags(MarketStatus.HALTED)
    is_known = flag_in(row, "trading_disabled") is not None
    return MarketFlags(MarketStatus.TRADING if is_known else None)


def _kraken_class(row: Row) -> str | None:
    classes = {"currency": "crypto", "tokenized_asset": "tokenised_equity"}
    return classes.get(str(row.get("aclass_base")))


def _kraken_rows(answer: object) -> list[object]:
    """An object of rows by the asset's key, with the key in each."""
    found = row_of(at_path(answer, "result"))
    if len(found) > MAX_CURRENCIES:
        raise RowError("too_many_rows", len(found))
    return [{**row_of(one), "key": key} for key, one in found.items()]


# Kraken's first assets have a letter before them; some tickers are its own.
_KRAKEN_TICKERS: Final = {
    **{f"X{one}": one for one in ("ETH", "LTC", "XRP", "XLM", "ZEC", "XMR", "ETC", "REP", "MLN")},
    **{f"Z{one}": one for one in ("USD", "EUR", "GBP", "JPY", "CAD", "AUD")},
    "XXBT": "BTC",
    "XBT": "BTC",
    "XXDG": "DOGE",
    "XDG": "DOGE",
}

_ALL: tuple[VenueQuirks, ...] = (
    VenueQuirks(
        exchange="binance",
        flags=flags_by(
            "status",
            trading=("trading",),
            halted=("break", "halt", "end_of_day", "pre_trading", "post_trading", "auction_match"),
        ),
        levels=(5, 10, 20, 50, 100, 500),
        watch_levels=100,  # of the snapshot that the changes continue; ccxt asks for 1,000 else
        books_per_minute=800,
        options={**_SPOT, "fetchMargins": False},
        networks=NetworkCall(
            "sapiGetCapitalConfigGetall",
            needs_key=True,
            coin="coin",
            chains="networkList",
            chain=("network",),
            deposit="depositEnable",
            withdraw="withdrawEnable",
            contract="contractAddress",
            fee=("withdrawFee",),
        ),
    ),
    VenueQuirks(
        exchange="bybit",
        flags=flags_by(
            "status",
            trading=("trading",),
            halted=("prelaunch", "settling", "delivering"),
            delisted=("closed",),
            st_tag="stTag",
            class_of=_bybit_class,
        ),
        levels=(50, 200),
        watch_levels=200,  # 50 without
        books_per_minute=400,
        options=_SPOT,
        tells_st_tag=True,
        networks=NetworkCall(
            "privateGetV5AssetCoinQueryInfo",
            rows=rows_at("result", "rows", most=MAX_CURRENCIES),
            needs_key=True,
            coin="coin",
            chains="chains",
            chain=("chain",),
            deposit="chainDeposit",
            withdraw="chainWithdraw",
            fee=("withdrawFee",),
        ),
        notices=(
            NoticeCall(
                "publicGetV5AnnouncementsIndex",
                params={"locale": "en-US", "type": "delistings", "limit": 50},
                rows=rows_at("result", "list", most=MAX_NOTICE_ROWS),
                read=notices_by(
                    published=("publishTime", "dateTimestamp"), effective="startDateTimestamp"
                ),
            ),
        ),
    ),
    VenueQuirks(
        exchange="okx",
        flags=flags_by(
            "state", trading=("live",), halted=("suspend", "preopen", "test", "post_only")
        ),
        levels=(5, 20, 50, 100, 400),
        books_per_minute=720,
        options=_SPOT,
        networks=NetworkCall(
            "privateGetAssetCurrencies",
            rows=rows_at("data", most=MAX_CURRENCIES),
            needs_key=True,
            coin="ccy",
            chain=("chain",),
            after_coin=True,
            deposit="canDep",
            withdraw="canWd",
            contract="ctAddr",
            fee=("fee", "minFee"),
        ),
        notices=(
            NoticeCall(
                "publicGetSupportAnnouncements",
                params={"annType": "announcements-delistings"},
                rows=_okx_notices,
                read=notices_by(published=("pTime",), effective="businessPTime"),
            ),
        ),
    ),
    VenueQuirks(
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
            "publicGetCurrencies",
            rows=rows_at("data", most=MAX_CURRENCIES),
            coin="currency",
            chains="chains",
            chain=("chainName", "chainId"),
            deposit="isDepositEnabled",
            withdraw="isWithdrawEnabled",
            contract="contractAddress",
            fee=("withdrawalMinFee",),
        ),
        notices=(
            NoticeCall(
                "publicGetAnnouncements",
                params={"annType": "delistings", "lang": "en_US", "pageSize": 50},
                rows=rows_at("data", "items", most=MAX_NOTICE_ROWS),
                read=notices_by(id="annId", title="annTitle", url="annUrl", published=("cTime",)),
            ),
        ),
    ),
    VenueQuirks(
        exchange="gate",
        flags=_gate_flags,
        levels=(10, 20, 50, 100, 500),
        watch_levels=400,  # the other is 50
        books_per_minute=800,
        options=_SPOT,
        tells_st_tag=True,
        networks=NetworkCall(
            "publicSpotGetCurrencies",
            coin="currency",
            chains="chains",
            or_itself=True,
            chain=("chain", "name"),
            deposit="deposit_disabled",
            withdraw="withdraw_disabled",
            says_closed=True,
            contract="addr",
        ),
        notices=(NoticeCall("publicSpotGetCurrencyPairs", read=_gate_notice),),
    ),
    VenueQuirks(
        exchange="bitget",
        flags=flags_by(
            "status", trading=("online",), halted=("gray", "halt"), delisted=("offline",)
        ),
        levels=(5, 15, 50, 150),
        books_per_minute=800,
        options={**_SPOT, "uta": False},
        networks=NetworkCall(
            "publicSpotGetV2SpotPublicCoins",
            rows=rows_at("data", most=MAX_CURRENCIES),
            coin="coin",
            chains="chains",
            chain=("chain",),
            deposit="rechargeable",
            withdraw="withdrawable",
            contract="contractAddress",
            fee=("withdrawFee",),
        ),
        notices=(
            NoticeCall(
                "publicCommonGetV2PublicAnnoucements",
                params={"annType": "symbol_delisting", "language": "en_US"},
                rows=rows_at("data", most=MAX_NOTICE_ROWS),
                read=notices_by(id="annId", title="annTitle", url="annUrl", published=("cTime",)),
            ),
        ),
    ),
    VenueQuirks(
        exchange="mexc",
        market_method="fetch_spot_markets",
        flags=flags_by(
            "status",
            trading=("1", "enabled"),
            halted=("2", "pause"),
            delisted=("3", "offline"),
            st_tag="st",
        ),
        levels=(100, 500),
        books_per_minute=260,
        has_websocket=False,  # its frames are protobuf, for which ccxt wants a package beside it
        options=_SPOT,
        tells_st_tag=True,
        networks=NetworkCall(
            "spotPrivateGetCapitalConfigGetall",
            needs_key=True,
            coin="coin",
            chains="networkList",
            chain=("network", "netWork"),
            deposit="depositEnable",
            withdraw="withdrawEnable",
            contract="contract",
            fee=("withdrawFee",),
        ),
    ),
    VenueQuirks(
        exchange="upbit",
        flags=_upbit_flags,
        levels=(30,),
        books_per_minute=400,
        market_params={"isDetails": "true"},
        tells_caution=True,
        networks=NetworkCall(
            "privateGetStatusWallet",
            needs_key=True,
            coin="currency",
            chain=("net_type",),
            state=(
                "wallet_state",
                {
                    "working": (True, True),
                    "withdraw_only": (False, True),
                    "deposit_only": (True, False),
                    "paused": (False, False),
                },
            ),
        ),
        books_a_call=50,
    ),
    VenueQuirks(
        exchange="bithumb",
        flags=_bithumb_flags,
        levels=(30,),
        books_per_minute=4_800,
        tells_caution=True,
        networks=NetworkCall(
            "publicGetPublicAssetsstatusMultichainALL",
            rows=rows_at("data", most=MAX_CURRENCIES),
            coin="currency",
            chain=("net_type",),
            deposit="deposit_status",
            withdraw="withdrawal_status",
        ),
        notices=(
            NoticeCall(
                "publicGetV1Notices",
                params={"count": 20},
                rows=rows_at(most=MAX_NOTICE_ROWS),
                read=notices_by(url="pc_url", published=("published_at",), time_of=_korean_time),
            ),
        ),
    ),
    VenueQuirks(
        exchange="coinone",
        flags=lambda row: MarketFlags(),
        levels=(5, 10, 15, 16),
        books_per_minute=800,
        names_pairs=False,
        networks=NetworkCall(
            "v2PublicGetCurrencies",
            rows=rows_at("currencies", most=MAX_CURRENCIES),
            coin="symbol",
            deposit="deposit_status",
            withdraw="withdraw_status",
            words={"normal": True, "suspended": False},
            fee=("withdrawal_fee",),
        ),
    ),
    VenueQuirks(
        exchange="coinbase",
        flags=_coinbase_flags,
        levels=(50, 100, 500),
        books_per_minute=390,
        # that a network is online says neither that deposits are open nor that withdrawals are
        networks=NetworkCall(
            "publicGetCurrencies",
            ccxt_class="coinbaseexchange",
            coin="id",
            chains="supported_networks",
            chain=("name", "id"),
            contract="contract_address",
        ),
    ),
    VenueQuirks(
        exchange="kraken",
        flags=flags_by(
            "status",
            trading=("online", "post_only", "limit_only"),
            halted=("cancel_only", "reduce_only", "maintenance"),
            class_of=_kraken_class,
        ),
        levels=(10, 25, 100, 500),
        watch_levels=100,  # 10 without
        books_per_minute=33,
        tickers=_KRAKEN_TICKERS,
        native_keys=("base", "quote"),
        networks=NetworkCall(
            "publicGetAssets",
            rows=_kraken_rows,
            coin="key",
            state=(
                "status",
                {
                    "enabled": (True, True),
                    "deposit_only": (True, False),
                    "withdrawal_only": (False, True),
                    "funding_temporarily_disabled": (False, False),
                },
            ),
        ),
    ),
)
QUIRKS: Final = {one.exchange: one for one in _ALL}
