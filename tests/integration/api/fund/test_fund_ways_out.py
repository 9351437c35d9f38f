"""Whatever a follower holds, a plan closes it (docs/fund.md#ways-out-by-hand)."""

from api.kernel.operation import Deps
from core.fund.rules.frozen import FundKind
from core.fund.rules.plan import FollowerAccount
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import (
    ADDRESS,
    ETH,
    USD,
    Follower,
    KnownAccounts,
    Office,
    vault_with,
)
from tests.integration.api.fund.test_fund_plans import planned


def test_a_weight_of_nothing__closes_what_is_left_below_the_minimum_too(
    follower: Follower, office: Office, vault: int, accounts: KnownAccounts
) -> None:
    """105 with orders of 100 at most: 100, then the rest. The least order is 10."""
    follower.consent(vault, max_order_usd="100")
    signal = office.publish(vault, weight="0", market=ETH)
    found = []
    for held in (105, 5):
        accounts.known[ADDRESS] = FollowerAccount(1_000 * USD, {ETH: held * USD})
        plan = planned(follower, signal)
        assert (plan["order"]["side"], plan["order"]["reduce_only"]) == ("sell", True)
        found.append((plan["disposition"], plan["capped_notional_usd"], plan["charged"]))
    assert found == [("capped", "100.000000", True), ("ready", "5.000000", False)]


def test_the_closing_half_of_a_flip__is_planned_on_a_market_of_grade_f(
    follower: Follower, office: Office, deps: Deps, clock: Clock, accounts: KnownAccounts,
    markets: None,
) -> None:  # fmt: skip
    vault = vault_with(deps, clock, FundKind.PERP, most_leverage_e2=500)
    follower.consent(vault)
    accounts.known[ADDRESS] = FollowerAccount(1_000 * USD, {ETH: 300 * USD})
    plan = planned(follower, office.publish(vault, weight="-0.25", market=ETH))
    assert (plan["disposition"], plan["reason"], plan["grade"]) == ("capped", "grade_f", "F")
    assert (plan["charged"], plan["capped_notional_usd"]) == (True, "300.000000")
    order = {name: plan["order"][name] for name in ("side", "reduce_only", "capped_by")}
    assert order == {"side": "sell", "reduce_only": True, "capped_by": "opening_refused"}
    assert plan["order"]["wanted_notional_usd"] == "550.000000"
    assert (plan["service"]["reason"], plan["service"]["field"]) == ("grade_f", "grade")
