"""What the rebalancing example does with what it reads: it fills up, sells back, and leaves alone what
is unknown.
"""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from api.client import Client, Wallet
from api.client.examples.rebalance import rebalance
from tests.each import each

AT = {"erc4626_adapter": "0xPool", "uniswap_v3_adapter": "0xMarket"}
NOTHING = {"reason": "nothing_to_unwind", "units": None, "withdrawable_now_usdc": None}


def held(units: int, brings: str | None, reason: str | None = None) -> dict[str, Any]:
    return {"reason": reason, "units": str(units), "withdrawable_now_usdc": brings}


@dataclass
class Mandates:
    """A mandate of 1,000 USDC: 200 an action, `today` left. `pool`: what is at the first adapter; the
    other has its part.
    """

    pool: dict[str, Any]
    today: str | None = "450.000000"
    refuses: str | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    def read(self, _: str) -> dict[str, Any]:
        values = {"per_action_max": "200.000000", "left_today": self.today, "left_total": "900.0"}
        used = {name: {"value": value} for name, value in values.items()}
        return {"mandate": {"budget_usdc": "1000.000000"}, "limits": {"used": used}}

    def unwind_call(self, _: str, *, adapter: str) -> dict[str, Any]:
        return self.pool if adapter == "0xPool" else held(1, "200.000000")

    def execute_call(self, _: str, **asked: Any) -> dict[str, Any]:
        self.calls.append((asked["function"], asked["args"], asked["amount_usdc"]))
        return {"check": {"ok": self.refuses is None, "reason": self.refuses}}

    def report_event(self, _: str, **said: Any) -> None:
        self.reports.append(said["amount_usdc"])


class Sender:
    def send(self, call: Any) -> dict[str, str]:
        return {"tx_hash": "0xab"}


@dataclass
class Agent:
    mandates: Mandates


def run(mandates: Mandates) -> Mandates:
    agent, wallet = cast("Client", Agent(mandates)), cast("Wallet", Sender())
    rebalance(agent, wallet, "m_1", AT)
    return mandates


def test_rebalance__an_empty_pool__is_filled_up_to_the_cap_of_an_action() -> None:
    found = run(Mandates(NOTHING))
    assert found.calls == [("deposit(uint256,uint256)", ["200000000", "0"], "200.000000")]
    assert found.reports == ["200.000000"]


def test_rebalance__too_much__is_sold_for_at_least_99_percent() -> None:
    found = run(Mandates(held(1_000, "500.000000")))
    assert found.calls == [("redeem(uint256,uint256)", ["200", "99000000"], "0.000000")]
    assert found.reports == []


@each(
    "pool",
    [
        held(1_000, "396.000000"),
        held(1_000, "404.000000"),
        held(1_000, None),
        {"reason": "minimum_needed", "units": None, "withdrawable_now_usdc": None},
        {"reason": "adapter_not_read", "units": None, "withdrawable_now_usdc": None},
    ],
)
def test_rebalance__a_small_difference_or_what_is_unknown__is_left_alone(
    pool: dict[str, Any],
) -> None:
    assert run(Mandates(pool)).calls == []


def test_rebalance__while_what_is_left_is_unknown__buys_nothing() -> None:
    assert run(Mandates(NOTHING, today=None)).calls == []


def test_rebalance__what_the_vault_would_refuse__is_not_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(Mandates(NOTHING, refuses="OverDailyCap")).reports == []
    assert "400.000000 USDC missing; OverDailyCap" in capsys.readouterr().out
