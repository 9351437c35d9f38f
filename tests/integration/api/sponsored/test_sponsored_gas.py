"""What one account may cost the sponsor in a day (docs/sponsored-buys.md#what-is-refused)."""

import json
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from core.keeper import gas
from core.sponsored.rules import FAILURES_A_DAY
from keeper.requests.sponsoring import sponsor_budgets
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import LyingWire, SponsoredStage


class FrontRun(LyingWire):
    """Right before the sponsor's transaction the buyer cancels the purchase."""

    def __init__(self, stage: SponsoredStage, quote: dict[str, Any]) -> None:
        super().__init__()
        self.stage, self.quote, self.is_cancelled = stage, quote, False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        calls = asked if isinstance(asked, list) else [asked]
        sends = any(call["method"] == "eth_sendRawTransaction" for call in calls)
        if sends and not self.is_cancelled:
            self.is_cancelled = True
            self.stage.cancel(self.quote, "purchase")
        return super().handle_request(request)


def failed_buy(stage: SponsoredStage, agent: dict[str, str]) -> None:
    """One whose transaction fails on chain, until that is final."""
    quote = stage.bought(agent)
    for process in stage.processes:
        process.die()
    stage.processes.clear()
    keeper = stage.keeper(FrontRun(stage, quote))
    keeper.run()
    stage.chain.anvil.mine(100)
    stage.index()
    keeper.run()
    keeper.run()
    stage.tell_time()


def test_after_three_failed_transactions__an_account_waits_for_the_next_day(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    waiting = stage.prepared(agent)
    for _ in range(FAILURES_A_DAY):
        failed_buy(stage, agent)
    answer = stage.hand_in(agent, stage.signed(waiting))
    assert reason(answer) == (429, "rate_limited")
    assert "failed on chain today" in answer.text
    assert f"{stage.clock.now.date()}" not in answer.json()["service"]["retry_at"]
    other = stage.agent()
    stage.bought(other)


def test_what_was_handed_in_before__is_not_sent_after_three_failures(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    for _ in range(FAILURES_A_DAY - 1):
        failed_buy(stage, agent)
    quote = stage.bought(agent)
    last = stage.bought(agent)
    for process in stage.processes:
        process.die()
    stage.processes.clear()
    keeper = stage.keeper(FrontRun(stage, quote))
    stage.cancel(last, "fee")
    keeper.run()
    assert len(keeper.wire.sent) == 1


def test_an_accounts_gas_of_the_day__is_a_budget_of_its_own(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    budgets = sponsor_budgets(
        SimpleNamespace(sponsor_gas_wei_per_day=100, sponsor_gas_wei_per_account_per_day=30)
    )
    assert budgets.of(7, None, "sponsor") == {"sponsor:account:7": 30, "sponsor:total": 100}
    assert list(budgets.of(7, None, "sponsor")) == list(gas.scopes_of(7, None, "sponsor"))
    assert budgets.of(None, None, "sponsor") == {"sponsor:total": 100}

    stage.bought(agent)
    stage.processes[0].run()
    with stage.database.read() as session:
        (scope,) = (
            session.connection()
            .exec_driver_sql("select scope from gas_day where scope like 'sponsor:account:%%'")
            .scalars()
        )
        used = gas.used_wei(session, gas.day_of(stage.now()), scope)
        assert used == gas.used_wei(session, gas.day_of(stage.now()), gas.SPONSORS)
    assert sum(used) > 0


def test_hand_in__above_the_accounts_gas_of_the_day__is_refused(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quote = stage.prepared(agent)
    least = int(quote["gas"]["covers_wei"])
    limits = vars(stage.deps.limits)
    monkeypatch.setitem(limits, "sponsor_gas_wei_per_account_per_day", least - 1)
    answer = stage.hand_in(agent, stage.signed(quote))
    assert reason(answer) == (429, "rate_limited")
    assert f"of {least - 1} wei" in answer.text
    monkeypatch.setitem(limits, "sponsor_gas_wei_per_account_per_day", least)
    assert stage.hand_in(agent, stage.signed(quote)).status_code == 202
