"""upbit, bithumb, coinone, coinbase, kraken: their own rows."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from core.market.facts import MarketStatus
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
    row_of,
    rows_in,
    text_in,
)

KOREA: Final = timezone(timedelta(hours=9))
MAX_CURRENCIES: Final = 20_000

# --- upbit


def _upbit_flags(row: Row) -> MarketFlags:
    """`market_event.warning` is the designation that may end in a delisting; `caution` holds five
    alerts that pass.
    """
    event = row.get("market_event")
    return MarketFlags(has_caution=flag_in(event, "warning") if isinstance(event, dict) else None)


_UPBIT_WALLET: Final = {  # deposits, withdrawals
    "working": (True, True),
    "withdraw_only": (False, True),
    "deposit_only": (True, False),
    "paused": (False, False),
}


def _upbit_networks(row: Row) -> Iterator[NetworkRow]:
    can_deposit, can_withdraw = _UPBIT_WALLET.get(str(row.get("wallet_state")), (None, None))
    yield NetworkRow(
        needed_text(row, "currency"), text_in(row, "net_type"), can_deposit, can_withdraw
    )


UPBIT: Final = VenueQuirks(
    exchange="upbit",
    flags=_upbit_flags,
    levels=(30,),
    books_per_minute=400,
    market_params={"isDetails": "true"},
    tells_caution=True,
    networks=NetworkCall(
        RawCall("privateGetStatusWallet", needs_key=True), _upbit_networks, tells_contracts=False
    ),
    books_a_call=50,
)

# --- bithumb


def _bithumb_flags(row: Row) -> MarketFlags:
    word = row.get("market_warning")
    return MarketFlags(has_caution={"NONE": False, "CAUTION": True}.get(str(word)))


def _bithumb_networks(row: Row) -> Iterator[NetworkRow]:
    yield NetworkRow(
        needed_text(row, "currency"),
        text_in(row, "net_type"),
        flag_in(row, "deposit_status"),
        flag_in(row, "withdrawal_status"),
    )


def _bithumb_notice(row: Row) -> NoticeRow:
    title, link = row.get("title"), row.get("pc_url")
    if not isinstance(title, str) or not title.strip():
        raise RowError("missing_title")
    url = link if isinstance(link, str) and is_https(link) else None
    return NoticeRow(None, title, url, _korean_time(row.get("published_at")))


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


BITHUMB: Final = VenueQuirks(
    exchange="bithumb",
    flags=_bithumb_flags,
    levels=(30,),
    books_per_minute=4_800,
    tells_caution=True,
    networks=NetworkCall(
        RawCall(
            "publicGetPublicAssetsstatusMultichainALL",
            rows=lambda answer: rows_in(at_path(answer, "data"), MAX_CURRENCIES),
        ),
        _bithumb_networks,
        tells_contracts=False,
    ),
    notices=(
        NoticeCall(
            RawCall("publicGetV1Notices", {"count": 20}, lambda answer: rows_in(answer, 500)),
            _bithumb_notice,
        ),
    ),
)

# --- coinone

_COINONE_STATUS: Final = {"normal": True, "suspended": False}


def _coinone_networks(row: Row) -> Iterator[NetworkRow]:
    yield NetworkRow(
        needed_text(row, "symbol"),
        None,
        _COINONE_STATUS.get(str(row.get("deposit_status"))),
        _COINONE_STATUS.get(str(row.get("withdraw_status"))),
        withdraw_fee=amount_in(row, "withdrawal_fee"),
    )


COINONE: Final = VenueQuirks(
    exchange="coinone",
    flags=lambda row: MarketFlags(),
    levels=(5, 10, 15, 16),
    books_per_minute=800,
    names_pairs=False,
    networks=NetworkCall(
        RawCall(
            "v2PublicGetCurrencies",
            rows=lambda answer: rows_in(at_path(answer, "currencies"), MAX_CURRENCIES),
        ),
        _coinone_networks,
        tells_chains=False,
        tells_contracts=False,
    ),
)

# --- coinbase


def _coinbase_flags(row: Row) -> MarketFlags:
    if str(row.get("status")).lower() == "delisted":
        return MarketFlags(MarketStatus.DELISTED)
    stops = [
        flag_in(row, one) for one in ("trading_disabled", "is_disabled", "cancel_only", "view_only")
    ]
    if any(stops):
        return MarketFlags(MarketStatus.HALTED)
    is_known = flag_in(row, "trading_disabled") is not None
    return MarketFlags(MarketStatus.TRADING if is_known else None)


def _coinbase_networks(row: Row) -> Iterator[NetworkRow]:
    """`status` says that a network is online: neither that deposits nor that withdrawals are."""
    for one in rows_in(row.get("supported_networks") or [], 60):
        network = row_of(one)
        yield NetworkRow(
            needed_text(row, "id"),
            text_in(network, "name") or text_in(network, "id"),
            None,
            None,
            text_in(network, "contract_address", 200),
        )


COINBASE: Final = VenueQuirks(
    exchange="coinbase",
    flags=_coinbase_flags,
    levels=(50, 100, 500),
    books_per_minute=390,
    networks=NetworkCall(
        RawCall("publicGetCurrencies", ccxt_class="coinbaseexchange"),
        _coinbase_networks,
        tells_transfers=False,
    ),
)

# --- kraken


def _kraken_flags(row: Row) -> MarketFlags:
    kind = row.get("aclass_base")
    classes = {"currency": "crypto", "tokenized_asset": "tokenised_equity"}
    return MarketFlags(
        status_of(
            row.get("status"),
            trading=("online", "post_only", "limit_only"),
            halted=("cancel_only", "reduce_only", "maintenance"),
        ),
        asset_class=classes.get(str(kind)),
    )


_KRAKEN_STATUS: Final = {  # deposits, withdrawals
    "enabled": (True, True),
    "deposit_only": (True, False),
    "withdrawal_only": (False, True),
    "funding_temporarily_disabled": (False, False),
}


def _kraken_networks(row: Row) -> Iterator[NetworkRow]:
    can_deposit, can_withdraw = _KRAKEN_STATUS.get(str(row.get("status")), (None, None))
    yield NetworkRow(needed_text(row, "key"), None, can_deposit, can_withdraw)


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

KRAKEN: Final = VenueQuirks(
    exchange="kraken",
    flags=_kraken_flags,
    levels=(10, 25, 100, 500),
    watch_levels=100,  # 10 without
    books_per_minute=33,
    tickers=_KRAKEN_TICKERS,
    native_keys=("base", "quote"),
    networks=NetworkCall(
        RawCall("publicGetAssets", rows=_kraken_rows),
        _kraken_networks,
        tells_chains=False,
        tells_contracts=False,
    ),
)
