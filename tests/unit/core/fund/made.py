"""What the fund's tests are made of."""

from datetime import UTC, datetime
from typing import Any

from core.fund.rules.impact import BookLadder, Rung
from core.fund.rules.plan import FollowerAccount, MarketSnapshot, SignalFacts
from core.fund.rules.sessions import MarketSession, SessionState
from core.market.liquidity_views import MarketLiquidity

AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
USD = 1_000_000
MARKET = "binance_btc_usdt"
OPEN = MarketSession(SessionState.OPEN)


def liquidity(**changes: Any) -> MarketLiquidity:
    """A market of grade B, looked at just now."""
    plain: dict[str, Any] = {
        "market": MARKET,
        "grade": "B",
        "is_provisional": False,
        "depth_usd": 123_456.0,
        "volume_24h_usd": 5e7,
        "squares": 0.0012,
        "buckets": 12,
        "mid": 91_250.5,
        "usd_per_quote": 1.0,
        "bids": (50_000.0, 90_000.0, 150_000.0),
        "asks": (50_000.0, 90_000.0, 150_000.0),
        "sampled_at": AT,
        "every_s": 60,
        "min_size_quote": 5.0,
        "is_simulated": True,
    }
    return MarketLiquidity(**(plain | changes))


def ladder(is_buy: bool, *usd: int) -> BookLadder:
    edges = (5_001, 10_001, 20_001)
    rungs = (Rung(edge, size * USD) for edge, size in zip(edges, usd, strict=False))
    return BookLadder(is_buy, tuple(rungs))


def snapshot(**changes: Any) -> MarketSnapshot:
    plain: dict[str, Any] = {
        "grade": "A",
        "is_provisional": False,
        "depth_usdc_e6": 1_000_000 * USD,
        "volume_usdc_e6": 100_000_000 * USD,
        "sigma_bps_e2": 30_000,
        "buys": ladder(True, 50_000, 40_000, 60_000),
        "sells": ladder(False, 50_000, 40_000, 60_000),
    }
    return MarketSnapshot(**(plain | changes))


def facts(**changes: Any) -> SignalFacts:
    """A live signal of a quarter, for an account of 1,000 that holds nothing."""
    plain: dict[str, Any] = {
        "market": MARKET,
        "weight_e4": 2_500,
        "leverage_e2": 100,
        "is_live": True,
        "is_paid": False,
        "is_paused": False,
        "is_superseded": False,
        "session": OPEN,
        "max_order_usdc_e6": 1_000_000 * USD,
        "max_leverage_e2": 100,
        "least_order_usdc_e6": 10 * USD,
        "account": FollowerAccount(1_000 * USD, {}),
        "snapshot": snapshot(),
    }
    return SignalFacts(**(plain | changes))
