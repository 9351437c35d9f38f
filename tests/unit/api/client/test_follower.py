"""The example follower's arithmetic (docs/fund-follower.md)."""

from decimal import Decimal
from typing import Any, cast

import pytest

from api.client.examples.follower import (
    PaperAccount,
    TrackedLook,
    locked_signal,
    require_hash,
    tracking_error_bps,
)
from api.client.operations import FundFundVaultRead, FundSignalPage

RULES = {
    "kind": "spot",
    "mandate": "Large coins, weekly.",
    "max_leverage": "1.00",
    "universe": [{"market": "binance_btc_usdt", "min_order_usd": "10.000000", "session": "always"}],
    "vault_id": 7,
    "version": 2,
}
HASH = "0x1627dc815801541eaf08b951cbc3e7cf510ed26f4d8365f385500fa955e580b5"  # docs/fund.md


def looks(*worths: tuple[int, int]) -> list[TrackedLook]:
    return [TrackedLook(Decimal(own), Decimal(vault)) for own, vault in worths]


def test_tracking_error__of_one_look_is_not_known() -> None:
    assert tracking_error_bps(looks((1_000, 1_000))) is None


def test_tracking_error__of_books_that_move_alike_is_zero() -> None:
    assert tracking_error_bps(looks((1_000, 500), (1_100, 550), (990, 495))) == 0


def test_tracking_error__is_the_root_of_the_mean_square_of_what_returns_differ_by() -> None:
    """1 % against 2 %, then twice the same."""
    found = tracking_error_bps(
        looks((1_000, 1_000), (1_010, 1_020), (1_010, 1_020), (1_010, 1_020))
    )
    assert found is not None
    assert round(found, 6) == round(Decimal(100) / Decimal(3).sqrt(), 6)


def test_a_trade__moves_cash_by_what_it_costs() -> None:
    account = PaperAccount(Decimal(1_000))
    account.trade("btc", Decimal("0.01"), Decimal(50_000))
    account.trade("btc", Decimal("-0.004"), Decimal(60_000))
    assert (account.cash, account.units) == (Decimal(740), {"btc": Decimal("0.006")})
    assert account.worth({"btc": Decimal(60_000)}) == Decimal(1_100)


def test_rules__of_another_hash_are_refused() -> None:
    require_hash(cast("FundFundVaultRead", {"id": 7, "frozen_rules": RULES, "rules_hash": HASH}))
    changed: Any = {"id": 7, "frozen_rules": RULES | {"version": 3}, "rules_hash": HASH}
    with pytest.raises(ValueError, match="the rules of vault 7 do not hash"):
        require_hash(changed)


def test_the_locked_signal__is_the_one_that_is_offered() -> None:
    page: Any = {
        "locked_count": 2,
        "payment_required": {"resource": {"url": "http://service/fund/signals/12"}},
    }
    assert locked_signal(page) == 12
    assert locked_signal(cast("FundSignalPage", {"locked_count": 0})) is None
