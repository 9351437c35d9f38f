"""A mandate's leg at the perpetuals venue: an account of the owner there that the service reads.

    bind --> bound --read every READ_S--> worth, or a reason why it is degraded
               '-- unbind --> unbound (for good; a new bind is a new leg)

Laws
- `last_worth_usdc_e6` and `last_read_at` are of the last reading that had a worth: unknown never
  becomes zero, and a degraded leg keeps what was known before.
- `degraded_ticks` counts the readings in a row that had a reason; a sound one sets it to 0.
Source: docs/perpetuals.md.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from core.mandate.rules.lifecycle import MarketMode, Status
from core.money import UsdcE6

READ_S = 30
SLOWEST_READ_S = 1_800
MAINNET_URL = "https://api.hyperliquid.xyz"
TESTNET_URL = "https://api.hyperliquid-testnet.xyz"
NETWORKS = {MAINNET_URL: "mainnet", TESTNET_URL: "testnet"}  # any other address: a simulator


class LegStatus(StrEnum):
    BOUND = "bound"
    UNBOUND = "unbound"


class Degraded(StrEnum):
    """Why a reading of the account is unreliable."""

    UNREADABLE = "hl_unreadable"
    ACCOUNT_MODE = "hl_account_mode"
    KEY_LOST = "hl_key_lost"


@dataclass(frozen=True, slots=True)
class PerpsTerms:
    """What the service says of the venue."""

    network: str
    exit_allowance_bps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReading:
    """One reading. `worth_usdc_e6` None: not known; `reason` None: sound."""

    worth_usdc_e6: UsdcE6 | None
    reason: Degraded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LegState:
    """What readings move of a leg."""

    last_worth_usdc_e6: UsdcE6 | None
    last_read_at: datetime | None
    last_reason: Degraded | None
    degraded_ticks: int


def perps_terms(url: str | None, exit_allowance_bps: int) -> PerpsTerms | None:
    """None: the leg is off."""
    if url is None:
        return None
    return PerpsTerms(NETWORKS.get(url, "simulated"), exit_allowance_bps)


def may_bind(status: Status, mode: MarketMode) -> bool:
    """Signed terms with real money, before they end."""
    return status in (Status.SIGNED, Status.WORKING) and mode is MarketMode.TESTNET


def after_reading(leg: LegState, reading: AccountReading, now: datetime) -> LegState:
    """The leg after one more reading."""
    if reading.worth_usdc_e6 is not None:
        leg = replace(leg, last_worth_usdc_e6=reading.worth_usdc_e6, last_read_at=now)
    ticks = 0 if reading.reason is None else leg.degraded_ticks + 1
    return replace(leg, last_reason=reading.reason, degraded_ticks=ticks)


def next_read_at(leg: LegState, now: datetime) -> datetime:
    """READ_S later; twice as long for each degraded reading in a row, up to SLOWEST_READ_S."""
    doublings = min(leg.degraded_ticks, SLOWEST_READ_S.bit_length())
    return now + timedelta(seconds=min(READ_S << doublings, SLOWEST_READ_S))
