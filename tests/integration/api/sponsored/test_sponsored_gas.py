"""What one account may cost the sponsor in a day (docs/sponsored-buys.md#what-is-refused)."""

from types import SimpleNamespace

import pytest
from eth_account import Account

from core.keeper import gas
from core.sponsored.days import sponsor_budgets
from core.sponsored.rules import FAILURES_A_DAY
from tests.integration.api.conftest import reason
from tests.integration.api.sponsored.conftest import USDC, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_front_runs import run_after


def failed_buy(stage: SponsoredStage, agent: dict[str, str]) -> None:
    """One whose transaction fails on chain, until that is final."""
    quote = stage.bought(agent)
    run_after(stage, lambda: stage.cancel(quote, "purchase"))
    stage.chain.anvil.mine(100)
    stage.index()
    for _ in range(2):
        stage.processes[0].run()
    stage.tell_time()


def test_after_three_failed_transactions__account_and_wallet_wait_for_the_next_day(
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
    refused = stage.hand_in(other, stage.signed(stage.prepared(other)))
    assert reason(refused) == (429, "rate_limited")
    assert f"of the wallet {stage.buyer.address} failed on chain" in refused.text
    stage.buyer = Account.create()
    stage.chain.mint(stage.buyer.address, 100 * USDC)
    stage.bought(other)


def test_what_was_handed_in_before__is_not_sent_after_three_failures(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    for _ in range(FAILURES_A_DAY - 1):
        failed_buy(stage, agent)
    quote = stage.bought(agent)
    last = stage.bought(agent)
    stage.cancel(last, "fee")
    wire = run_after(stage, lambda: stage.cancel(quote, "purchase"))
    assert len(wire.sent) == 1


def test_a_buys_gas_of_the_day__counts_in_each_of_its_budgets(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    scopes = gas.sponsored_scopes(
        account_id=7, owner_id=3, came_from="1.2.3.4", buyer="0xAB", is_new=True
    )
    budgets = sponsor_budgets(
        SimpleNamespace(
            sponsor_gas_wei_per_day=100,
            sponsor_gas_wei_of_new_buyers_per_day=101,
            sponsor_gas_wei_per_address_per_day=50,
            sponsor_gas_wei_per_owner_per_day=40,
            sponsor_gas_wei_per_account_per_day=30,
        )
    )
    assert budgets.of_sponsored(scopes) == {
        "sponsor:account:7": 30,
        "sponsor:address:1.2.3.4": 50,
        "sponsor:buyer:0xab": 30,
        "sponsor:new": 100,
        "sponsor:owner:3": 40,
        "sponsor:total": 100,
    }
    assert list(scopes) == sorted(scopes)

    quote = stage.bought(agent)
    kept = int(quote["gas"]["covers_wei"])
    with stage.database.read() as session:
        own = session.connection().exec_driver_sql("select gas_scopes from sponsored_buy").scalar()
        assert own is not None
        assert {gas.kind_of(scope) for scope in own} == {
            "account", "address", "buyer", "new", "total",
        }  # fmt: skip
        used = [gas.used_wei(session, gas.day_of(stage.clock.now), scope) for scope in own]
    assert used == [(0, kept)] * len(own)
    stage.processes[0].run()
    stage.chain.anvil.mine(100)
    stage.index()
    for _ in range(3):
        stage.processes[0].run()
    with stage.database.read() as session:
        used = [gas.used_wei(session, gas.day_of(stage.clock.now), scope) for scope in own]
    assert len(set(used)) == 1
    spent, reserved = used[0]
    assert 0 < spent < kept
    assert reserved == 0


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
