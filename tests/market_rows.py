"""Rows of a market for tests: listings with their states, two-hour figures, warnings, gaps.

BTC   binance USDT, upbit KRW, kraken USD     one asset by its contracts, grade A, one gap
LINK  binance USDT, bithumb KRW               ungraded at bithumb, whose transfers are unknown
DUST  mexc USDT                               grade F, halted, with open warnings
100%  no listing has such a symbol
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import sin
from typing import Any, Final

import numpy as np

from core.db.engine import WriteSession
from core.listings.queries import add_listings, find_listing
from core.listings.rules import Symbol
from core.market import parts, statistics
from core.market.copying import copy_columns, floats, integers, times
from core.market.facts import DataSource, MarketStatus
from core.market.ledger.writer import NewWarning, PastWarning, import_history
from core.market.rules.notices import OutcomeKind
from core.market.rules.wci import (
    B3_TEXT,
    B31_TEXT,
    KindFigure,
    WciFigure,
    WciReading,
)
from core.market.scan_tables import (
    MarketGap,
    MarketGapChange,
    MarketSpread,
    MarketVenueState,
)
from core.market.tables import (
    MarketAsset,
    MarketAssetState,
    MarketListingState,
    MarketNetwork,
    MarketOutcome,
    MarketTransferEvent,
)

BUCKET: Final = timedelta(hours=2)
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ListedPair:
    exchange: str
    base: str
    quote: str
    price: float
    volume_usd: float
    grade: str | None = "B"
    can_deposit: bool | None = True
    can_withdraw: bool | None = True
    status: MarketStatus | None = MarketStatus.TRADING
    usd_per_quote: float = 1.0


PAIRS: Final = (
    ListedPair("binance", "BTC", "USDT", 90_000.0, 5e8, "A"),
    ListedPair("upbit", "BTC", "KRW", 126_000_000.0, 2e8, "A", usd_per_quote=1 / 1_395),
    ListedPair("kraken", "BTC", "USD", 90_010.0, 1e8, "B"),
    ListedPair("binance", "LINK", "USDT", 20.0, 4e7, "B"),
    ListedPair("bithumb", "LINK", "KRW", 28_000.0, 3e6, None, None, None, usd_per_quote=1 / 1_395),
    ListedPair("mexc", "DUST", "USDT", 0.001, 2e4, "F", False, False, MarketStatus.HALTED),
)


@dataclass(frozen=True, slots=True)
class MarketIds:
    """By token_id, and by ticker."""

    listings: Mapping[str, int] = field(default_factory=dict)
    assets: Mapping[str, int] = field(default_factory=dict)


def add_pairs(session: WriteSession, pairs: Iterable[ListedPair], now: datetime) -> MarketIds:
    """Listings, assets and their states; nothing of their past."""
    pairs = list(pairs)
    assets: dict[str, int] = {}
    for base in dict.fromkeys(pair.base for pair in pairs):
        row = MarketAsset(ticker=base)
        session.add(row)
        session.flush()
        assets[base] = row.id
    listings = {}
    for pair in pairs:
        state = _state(session, pair, assets[pair.base], now)
        listings[state.token_id] = state.listing_id
    for base, asset_id in assets.items():
        session.add(_asset([pair for pair in pairs if pair.base == base], asset_id, now))
    session.flush()
    return MarketIds(listings, assets)


def add_state(
    session: WriteSession,
    exchange: str,
    base: str,
    asset_id: int,
    now: datetime,
    quote: str = "USDT",
    **known: Any,
) -> MarketListingState:
    """A pair that the exchange lists since now, and what is known of it."""
    symbol = Symbol(base, quote)
    add_listings(session, exchange, [symbol], is_simulated=True, now=now)
    found = find_listing(session, exchange, symbol)
    assert found is not None
    named: dict[str, Any] = {
        "native_id": f"{base}{quote}",
        "native_base": base,
        "token": base,
        "symbol": symbol.in_body,
        "token_id": found.token_id,
        "source": DataSource.SIMULATED,
        "is_simulated": True,
        "first_seen_at": now,
        "updated_at": now,
    }
    state = MarketListingState(
        listing_id=found.id, asset_id=asset_id, exchange=exchange, **(named | known)
    )
    session.add(state)
    session.flush()
    return state


def _state(
    session: WriteSession, pair: ListedPair, asset_id: int, now: datetime
) -> MarketListingState:
    depth = pair.volume_usd / 1_000
    measured: dict[str, Any] = {
        "mid": pair.price,
        "price_usd": pair.price * pair.usd_per_quote,
        "spread_bps": 4.0,
        "bid_05_usd": depth / 4,
        "ask_05_usd": depth / 4,
        "bid_1_usd": depth / 2,
        "ask_1_usd": depth / 2,
        "bid_2_usd": depth,
        "ask_2_usd": depth * 1.1,
        "slip_buy_1k_bps": 3.0,
        "slip_sell_1k_bps": 3.5,
        "slip_buy_10k_bps": 8.0,
        "slip_sell_10k_bps": 9.0 if pair.grade != "F" else None,
        "imbalance": -0.05,
        "usd_per_quote": pair.usd_per_quote,
        "fx_source": "par" if pair.usd_per_quote == 1 else f"{pair.exchange} USDT/KRW",
        "is_truncated": False,
        "volume_24h_usd": pair.volume_usd,
    }
    graded: dict[str, Any] = {}
    if pair.grade is not None:
        graded = {
            "grade": pair.grade,
            "score": {"A": 88.0, "B": 70.0, "F": 12.5}[pair.grade],
            "is_provisional": False,
            "part_depth": 0.9,
            "part_spread": 0.8,
            "part_slippage": 0.7,
            "part_volume": 0.6,
            "part_uptime": 1.0,
            "in_depth_usd": depth,
            "in_spread_bps": 4.0,
            "in_slip_10k_bps": 9.0,
            "in_volume_24h_usd": pair.volume_usd,
            "in_volume_30d_usd": pair.volume_usd,
            "in_uptime": 1.0,
            "in_hours": 24.0,
            "in_coverage": 1.0,
            "gpa_7d": {"A": 4.0, "B": 3.0, "F": 0.0}[pair.grade],
            "graded_at": now,
            "grade_version": "grade_v1",
            "week_closes": [pair.price * (0.9 + 0.005 * half_days) for half_days in range(15)],
        }
    return add_state(
        session,
        *(pair.exchange, pair.base, asset_id, now, pair.quote),
        status=pair.status,
        asset_class="crypto",
        first_seen_at=now - timedelta(days=90),
        every_s=60,
        sampled_at=now,
        can_deposit=pair.can_deposit,
        can_withdraw=pair.can_withdraw,
        order_usd=pair.volume_usd,
        gates=["thin_depth"] if pair.grade == "F" else [],
        **measured,
        **graded,
    )


def _asset(pairs: Sequence[ListedPair], asset_id: int, now: datetime) -> MarketAssetState:
    letters = sorted(pair.grade for pair in pairs if pair.grade is not None)
    means = [{"A": 4.0, "B": 3.0, "F": 0.0}[letter] for letter in letters]
    return MarketAssetState(
        asset_id=asset_id,
        token=pairs[0].base,
        grade=letters[0] if letters else None,
        grade_worst=letters[-1] if letters else None,
        gpa_7d=sum(means) / len(means) if means else None,
        graded_venues=len(letters),
        graded_at=now if letters else None,
        identity="verified_same" if len(pairs) > 1 else "no_contract_data",
        transfer="open" if pairs[0].can_deposit else "blocked",
        exchanges=sorted({pair.exchange for pair in pairs}),
        **(_graph() if pairs[0].base == "LINK" else {}),
        is_simulated=True,
        updated_at=now,
    )


def _graph() -> dict[str, Any]:
    """Two chains of one coin at binance; bithumb lists the first alone."""
    one, other = "0x" + "51" * 20, "0x" + "71" * 20
    exchanges = ["binance", "bithumb"]
    keys = {"eip155:1": one, "eip155:10": other}
    link = {
        "one": f"eip155:1:{one}",
        "other": f"eip155:10:{other}",
        "exchanges": ["binance"],
        "is_weak": True,
        "is_refused": False,
    }
    return {
        "contracts": [
            {"chain": chain, "address": address, "exchanges": exchanges}
            for chain, address in keys.items()
        ],
        "groups": [{"id": f"eip155:1:{one}", "coins": ["binance:LINK", "bithumb:LINK"]}],
        "links": [link],
    }


def add_rollups(
    session: WriteSession, listing_ids: Sequence[int], days: int, now: datetime, price: float = 100
) -> int:
    """Two-hour rows of so many days, the last one that is over by now; how many."""
    last = EPOCH + (now - EPOCH) // BUCKET * BUCKET - BUCKET
    buckets = [last - BUCKET * back for back in range(days * 12)][::-1]
    parts.ensure(session, parts.ROLLUPS, buckets[0], last)
    at = np.array([int(one.timestamp()) * 1_000_000 for one in buckets], dtype=np.int64)
    wave = np.array([price * (1 + 0.05 * sin(n / 9)) for n in range(len(at))])
    count, rows = len(at), 0
    for listing_id in listing_ids:
        unknown = np.full(count, np.nan)
        columns = {
            "listing_id": integers(np.full(count, listing_id)),
            "bucket": times(at),
            **{name: integers(np.full(count, 120), bits=32) for name in ("expected", "n")},
            **{name: integers(np.zeros(count), bits=32) for name in ("rejected", "gaps")},
            "open": floats(wave),
            "high": floats(wave * 1.01),
            "low": floats(wave * 0.99),
            "close": floats(wave * 1.002),
            "spread_p5_bps": floats(np.full(count, 2.0)),
            "spread_p50_bps": floats(np.full(count, 4.0)),
            "spread_p95_bps": floats(np.full(count, 9.0)),
            "depth_1_usd": floats(wave * 1_000),
            "depth_2_usd": floats(wave * 2_000),
            "slip_1k_bps": floats(np.full(count, 3.0)),
            "slip_10k_bps": floats(np.full(count, 9.0)),
            "volume_24h_usd": floats(wave * 10_000),
            "rv": floats(np.full(count, 0.01)),
            "deposit_share": floats(np.full(count, 1.0)),
            "withdraw_share": floats(unknown),
            "coverage": floats(np.full(count, 1.0)),
        }
        rows += copy_columns(session, parts.ROLLUPS, columns)
    return rows


def warning(ids: MarketIds, token_id: str, type_: str, severity: str) -> NewWarning:
    exchange, base, _ = token_id.split("_")
    return NewWarning(
        exchange=exchange,
        asset_id=ids.assets[base.upper()],
        token=base.upper(),
        listing_id=ids.listings[token_id],
        type=type_,
        severity=severity,
        is_predictive=type_ not in ("st_tag", "delist_notice"),
        evidence={"depth_lowest_1h_usd": "812.5"},
        rule_version="warnings_v1",
    )


def add_warnings(session: WriteSession, ids: MarketIds, now: datetime) -> None:
    """Of DUST two that stand and one that is over, and one of BTC at upbit; as a past."""
    past = [
        ("mexc_dust_usdt", "depth_collapse", "warning", 48, None),
        ("mexc_dust_usdt", "spread_blowout", "warning", 40, 30),
        ("upbit_btc_krw", "transfer_halt", "critical", 24, None),
        ("mexc_dust_usdt", "delist_notice", "critical", 2, None),
    ]
    import_history(
        session,
        [
            PastWarning(
                warning(ids, token_id, type_, severity),
                now - timedelta(hours=began),
                None if ended is None else now - timedelta(hours=ended),
            )
            for token_id, type_, severity, began, ended in past
        ],
    )


def add_events(session: WriteSession, ids: MarketIds, now: datetime) -> None:
    """DUST: withdrawals closed at mexc three hours ago, two networks, an outcome."""
    dust = ids.assets["DUST"]
    session.add(
        MarketNetwork(
            exchange="mexc",
            native_base="DUST",
            chain="eip155:1",
            asset_id=dust,
            can_deposit=None,
            can_withdraw=False,
            contract="0x" + "ab" * 20,
            is_native=False,
            withdraw_fee=3.5,
            deposit_since=now - timedelta(days=3),
            withdraw_since=now - timedelta(hours=3),
            scans=9,
            seen_at=now,
        )
    )
    session.add(
        MarketTransferEvent(
            exchange="mexc",
            native_base="DUST",
            chain="eip155:1",
            asset_id=dust,
            direction="withdraw",
            was_open=True,
            is_open=False,
            at=now - timedelta(hours=3),
        )
    )
    session.add(
        MarketOutcome(
            exchange="mexc",
            asset_id=dust,
            kind="delist_notice",
            exclusion=None,
            is_genuine=True,
            at=now - timedelta(hours=2),
        )
    )
    session.flush()


def add_gaps(session: WriteSession, ids: MarketIds, now: datetime) -> None:
    buy, sell = ids.listings["binance_btc_usdt"], ids.listings["upbit_btc_krw"]
    common: dict[str, Any] = {"asset_id": ids.assets["BTC"], "token": "BTC"}
    session.add(
        MarketGap(
            buy_id=buy,
            sell_id=sell,
            buy_exchange="binance",
            sell_exchange="upbit",
            gross_bps=35.5,
            net_1k_bps=12.25,
            net_5k_bps=11.0,
            net_10k_bps=None,
            transferable="open",
            chains=["bip122:000000000019d6689c085ae165831e93"],
            is_actionable=True,
            suspect=None,
            fx_source="par, upbit USDT/KRW",
            buy_at=now,
            sell_at=now,
            observed_at=now,
            **common,
        )
    )
    session.add(
        MarketGap(
            buy_id=sell,
            sell_id=buy,
            buy_exchange="upbit",
            sell_exchange="binance",
            gross_bps=-40.0,
            net_1k_bps=-60.0,
            net_5k_bps=None,
            net_10k_bps=None,
            transferable="unverified",
            chains=[],
            is_actionable=False,
            suspect=None,
            fx_source="par, upbit USDT/KRW",
            buy_at=now,
            sell_at=now,
            observed_at=now,
            **common,
        )
    )
    session.add(
        MarketSpread(
            venues=3,
            dispersion=0.0035,
            size_usd=25_000.0,
            profit_usd=30.0,
            actionable_profit_usd=30.0,
            legs=[
                {
                    "buy_at": "binance",
                    "sell_at": "upbit",
                    "base": 0.25,
                    "buy_usd": 22_500.0,
                    "sell_usd": 22_530.0,
                    "profit_usd": 30.0,
                    "gate": "open",
                }
            ],
            is_actionable=True,
            observed_at=now,
            **common,
        )
    )
    for back in range(3):
        session.add(
            MarketGapChange(
                buy_exchange="binance",
                sell_exchange="upbit",
                gross_bps=30.0 + back,
                was_bps=None if back == 0 else 29.0 + back,
                net_1k_bps=10.0,
                at=now - timedelta(minutes=3 - back),
                **common,
            )
        )
        session.flush()


def add_venues(session: WriteSession, pairs: Iterable[ListedPair], now: datetime) -> None:
    listed = [pair.exchange for pair in pairs if pair.status is not MarketStatus.DELISTED]
    for exchange, count in sorted(Counter(listed).items()):
        is_down = exchange == "mexc"
        session.add(
            MarketVenueState(
                exchange=exchange,
                source=DataSource.SIMULATED,
                state="down" if is_down else "ok",
                reason="timeout" if is_down else None,
                since=now - timedelta(hours=1),
                lag_s=0.8,
                skew_ms=12,
                books_per_minute=600,
                listings=count,
                capabilities={"currencies": True, "contracts": exchange != "upbit"},
                answered_at=now,
                updated_at=now,
            )
        )
    session.flush()


def add_statistics(session: WriteSession, now: datetime) -> None:
    kinds = (
        KindFigure(OutcomeKind.ST_TAG, 4, 2),
        KindFigure(OutcomeKind.DELIST, 4, 3),
        KindFigure(OutcomeKind.SUSPEND, 0, 0),
        KindFigure(OutcomeKind.DELISTED, 1, 1),
    )
    headline = WciFigure(90, 8, 5, 0.625, kinds, 40, 20, 5, 0.25, 1, 2)
    second = WciFigure(60, 0, 0, None, (), 0, 0, 0, None, 0, 0)
    readings = [
        WciReading(version, words, headline, second)
        for version, words in (("B3", B3_TEXT), ("B3.1", B31_TEXT))
    ]
    statistics.publish(session, readings, now, now)


def add_market(session: WriteSession, now: datetime) -> MarketIds:
    """All of it."""
    ids = add_pairs(session, PAIRS, now)
    add_venues(session, PAIRS, now)
    add_warnings(session, ids, now)
    add_events(session, ids, now)
    add_gaps(session, ids, now)
    add_statistics(session, now)
    add_rollups(session, [ids.listings["binance_btc_usdt"]], 90, now)
    return ids
