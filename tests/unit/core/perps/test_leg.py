"""What readings make of a leg."""

from datetime import UTC, datetime, timedelta

from core.mandate.rules.lifecycle import MarketMode, Status
from core.money import UsdcE6
from core.perps.rules.leg import (
    AccountReading,
    Degraded,
    LegState,
    after_reading,
    may_bind,
    next_read_at,
    perps_terms,
)
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
NEW = LegState(last_worth_usdc_e6=None, last_read_at=None, last_reason=None, degraded_ticks=0)
SOUND = AccountReading(worth_usdc_e6=UsdcE6(5), reason=None)
DOWN = AccountReading(worth_usdc_e6=None, reason=Degraded.UNREADABLE)
LOST = AccountReading(worth_usdc_e6=UsdcE6(7), reason=Degraded.KEY_LOST)


def test_a_leg_that_was_never_read__has_no_worth_after_a_failed_reading() -> None:
    after = after_reading(NEW, DOWN, NOW)
    assert (after.last_worth_usdc_e6, after.last_read_at, after.degraded_ticks) == (None, None, 1)


def test_a_failed_reading__keeps_worth_and_time_of_the_last_sound_one() -> None:
    later = NOW + timedelta(seconds=30)
    after = after_reading(after_reading(NEW, SOUND, NOW), DOWN, later)
    assert (after.last_worth_usdc_e6, after.last_read_at) == (5, NOW)


def test_a_lost_key__leaves_the_worth_readable() -> None:
    after = after_reading(NEW, LOST, NOW)
    assert (after.last_worth_usdc_e6, after.last_reason) == (7, Degraded.KEY_LOST)


def test_a_sound_reading__ends_the_count() -> None:
    degraded = after_reading(after_reading(NEW, DOWN, NOW), DOWN, NOW)
    assert (degraded.degraded_ticks, after_reading(degraded, SOUND, NOW).degraded_ticks) == (2, 0)


@each(("ticks", "seconds"), [(0, 30), (1, 60), (2, 120), (5, 960), (6, 1_800), (10**6, 1_800)])
def test_a_degraded_leg__is_read_less_and_less_often(ticks: int, seconds: int) -> None:
    leg = LegState(
        last_worth_usdc_e6=None,
        last_read_at=None,
        last_reason=Degraded.UNREADABLE,
        degraded_ticks=ticks,
    )
    assert next_read_at(leg, NOW) == NOW + timedelta(seconds=seconds)


@each(
    ("status", "mode", "may"),
    [
        (Status.DRAFT, MarketMode.TESTNET, False),
        (Status.SIGNED, MarketMode.TESTNET, True),
        (Status.WORKING, MarketMode.TESTNET, True),
        (Status.WORKING, MarketMode.PAPER, False),
        (Status.STOPPED, MarketMode.TESTNET, False),
    ],
)
def test_a_leg__is_bound_to_signed_terms_with_real_money(
    status: Status, mode: MarketMode, may: bool
) -> None:
    assert may_bind(status, mode) is may


def test_without_an_address__the_leg_is_off() -> None:
    assert perps_terms(None, 100) is None


@each(
    ("url", "network"),
    [
        ("https://api.hyperliquid.xyz", "mainnet"),
        ("https://api.hyperliquid-testnet.xyz", "testnet"),
        ("http://127.0.0.1:9999", "simulated"),
    ],
)
def test_the_network__follows_from_the_address(url: str, network: str) -> None:
    terms = perps_terms(url, 100)
    assert terms is not None
    assert terms.network == network
