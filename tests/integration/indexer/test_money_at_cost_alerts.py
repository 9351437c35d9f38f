"""Owners' alerts of money that counts at cost: once an episode and day, in the block's transaction,
withdrawn by a reorg.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event, select, text

from core.alerts.queries import money_at_cost_stands
from core.alerts.tables import OwnerAlert
from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.selectors import selector_of
from core.times import DAY_S
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued
from tests.personas import AGENT, OWNER

Unvalued = tuple[Issued, str, str]
TAKE, GIVE, BOTH = "take(uint256)", "give(uint256)", "takeAndGive(uint256,uint256)"


@pytest.fixture
def unvalued(follower: Follower) -> Unvalued:
    """A mandate that lets money go to a venue that no adapter values: (mandate, vault, venue)."""
    venue = follower.deployed.deploy("HostileVenue", follower.deployed.contracts["usdc"])
    follower.deployed.mint(venue, 1_000 * USDC)
    named = [
        Rule(venue, selector_of(function), UNPINNED, RuleKind.SPEND) for function in (TAKE, BOTH)
    ]
    named.append(Rule(venue, selector_of(GIVE), UNPINNED, RuleKind.EXIT))
    rules = tuple(
        sorted(
            [*follower.deployed.rules(), *named],
            key=lambda rule: (int(rule.target, 16), rule.selector),
        )
    )
    mandate = follower.issue(rules=rules)
    vault = follower.deployed.create_vault(mandate.terms, rules=rules)
    follower.catch_up()
    return mandate, vault, venue


def call(venue: str, max_spend: int, function: str, *arguments: int) -> VaultCall:
    return VaultCall(venue, max_spend, call_by_signature(function, arguments))


def take(venue: str, amount: int) -> str:
    return calldata.execute(call(venue, amount, TAKE, amount))


def give(venue: str, amount: int) -> str:
    return calldata.execute(call(venue, 0, GIVE, amount))


def act(follower: Follower, vault: str, *datas: str) -> None:
    for data in datas:
        follower.deployed.succeed(AGENT, vault, data)
    follower.catch_up()


def pass_time(follower: Follower, seconds: int = DAY_S) -> None:
    follower.deployed.rpc.call("evm_increaseTime", [seconds])


def alerts(follower: Follower) -> list[OwnerAlert]:
    with follower.database.read() as session:
        return list(session.scalars(select(OwnerAlert).order_by(OwnerAlert.id)))


def at_cost(follower: Follower) -> list[tuple[str, bool]]:
    """(USDC out at cost, is withdrawn), oldest first."""
    return [
        (alert.payload["args"]["at_cost_usdc"], alert.withdrawn_at is not None)
        for alert in alerts(follower)
    ]


def test_money_goes_out_where_no_adapter_values_it__the_owner_is_told_of_mandate_target_and_amount(
    follower: Follower, unvalued: Unvalued
) -> None:
    mandate, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC))
    (alert,) = alerts(follower)
    (log,) = [row for row in follower.rows(mandate) if "executed" in row.payload]
    payload: dict[str, Any] = {
        "event": "Executed",
        "args": {"target": venue, "selector": selector_of(TAKE), "at_cost_usdc": "50.000000"},
        "mandate_id": mandate.public_id,
    }
    assert (alert.kind, alert.payload) == ("money_at_cost", payload)
    assert (alert.owner_id, alert.log_index) == (follower.mandate(mandate).owner_id, log.log_index)
    assert "0x" + (alert.tx_hash or b"").hex() == log.tx_hash
    follower.assert_sound(mandate, vault)


def test_more_money_in_the_same_episode__tells_nothing_new(
    follower: Follower, unvalued: Unvalued
) -> None:
    mandate, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC))
    act(follower, vault, take(venue, 20 * USDC))
    act(follower, vault, give(venue, 60 * USDC), take(venue, 5 * USDC))
    assert at_cost(follower) == [("50.000000", False)]
    follower.assert_sound(mandate, vault)


def test_all_home_and_out_again__is_a_second_alert(follower: Follower, unvalued: Unvalued) -> None:
    _, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC), give(venue, 50 * USDC))
    pass_time(follower)
    act(follower, vault, take(venue, 7))
    assert at_cost(follower) == [("50.000000", False), ("0.000007", False)]


def test_the_owners_unwind_ends_an_episode_too(follower: Follower, unvalued: Unvalued) -> None:
    mandate, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC))
    follower.deployed.succeed(OWNER, vault, calldata.unwind([call(venue, 0, GIVE, 50 * USDC)]))
    pass_time(follower)
    act(follower, vault, take(venue, 7))
    assert at_cost(follower) == [("50.000000", False), ("0.000007", False)]
    follower.assert_sound(mandate, vault)


def test_a_position_that_an_adapter_values__tells_nothing(
    follower: Follower, unvalued: Unvalued
) -> None:
    _, vault, _ = unvalued
    act(follower, vault, follower.deployed.buy_data(50 * USDC))
    assert alerts(follower) == []


def test_out_and_home_within_one_block__was_never_off_and_tells_nothing(
    follower: Follower, unvalued: Unvalued
) -> None:
    mandate, vault, venue = unvalued
    act(
        follower,
        vault,
        calldata.execute_batch([call(venue, USDC, TAKE, USDC), call(venue, 0, GIVE, USDC)]),
    )
    act(follower, vault, calldata.execute(call(venue, USDC, BOTH, USDC, USDC)))
    assert alerts(follower) == []
    follower.assert_sound(mandate, vault)


def test_change_that_comes_back_in_the_call__only_the_rest_is_out(
    follower: Follower, unvalued: Unvalued
) -> None:
    mandate, vault, venue = unvalued
    act(follower, vault, calldata.execute(call(venue, 80 * USDC, BOTH, 80 * USDC, 30 * USDC)))
    state = follower.state(mandate)
    assert at_cost(follower) == [("50.000000", False)]
    assert (state.spent_usdc_e6, state.received_usdc_e6, state.cash_usdc_e6) == (
        80 * USDC,
        30 * USDC,
        950 * USDC,
    )
    follower.assert_sound(mandate, vault)


def test_a_reorg__withdraws_the_alert_and_deletes_nothing(
    follower: Follower, unvalued: Unvalued
) -> None:
    mandate, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC))
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert at_cost(follower) == [("50.000000", True)]
    assert follower.state(mandate).unvalued_out_usdc_e6 == 0
    follower.assert_sound(mandate, vault)


def test_a_reorg_that_brings_the_call_back__tells_again(
    follower: Follower, unvalued: Unvalued
) -> None:
    _, vault, venue = unvalued
    raw = follower.deployed.sign(AGENT, vault, take(venue, 50 * USDC))
    follower.deployed.rpc.call("eth_sendRawTransaction", [raw])
    follower.deployed.anvil.mine(1)
    follower.catch_up()
    follower.deployed.anvil.reorg(2, [(raw, 1)])
    follower.catch_up()
    assert at_cost(follower) == [("50.000000", True), ("50.000000", False)]


def test_many_flaps_within_a_day__are_one_alert(follower: Follower, unvalued: Unvalued) -> None:
    """An agent wrote its owner a row for each flap, as many as it liked."""
    mandate, vault, venue = unvalued
    for _ in range(6):
        act(follower, vault, take(venue, 7), give(venue, 7))
    assert at_cost(follower) == [("0.000007", False)]
    follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_many_flaps_in_one_range__are_one_alert_a_day(
    follower: Follower, unvalued: Unvalued
) -> None:
    _, vault, venue = unvalued
    for amount in range(1, 7):
        follower.deployed.succeed(AGENT, vault, take(venue, amount))
        follower.deployed.succeed(AGENT, vault, give(venue, amount))
        pass_time(follower, DAY_S // 2)
    follower.deployed.anvil.mine(40)
    follower.catch_up()
    assert at_cost(follower) == [("0.000001", False), ("0.000003", False), ("0.000005", False)]


def test_a_flap_after_a_reorg_that_withdrew_the_alert__is_told(
    follower: Follower, unvalued: Unvalued
) -> None:
    _, vault, venue = unvalued
    act(follower, vault, take(venue, 50 * USDC))
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    act(follower, vault, take(venue, 7), give(venue, 7), take(venue, 8))
    assert at_cost(follower) == [("50.000000", True), ("0.000007", False)]


def test_the_days_check__is_answered_by_its_index(follower: Follower) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    with follower.database.read() as session:
        session.execute(text("set local enable_seqscan = off"))
        asked: list[tuple[str, Any]] = []
        event.listen(
            session.connection(),
            "before_cursor_execute",
            lambda *seen: asked.append((seen[2], seen[3])),
        )
        assert not money_at_cost_stands(session, "m_4k2v7c3xqa", at)
        ((statement, parameters),) = asked
        plan = [
            row[0]
            for row in session.connection().exec_driver_sql(f"explain {statement}", parameters)
        ]
    assert "using ix_owner_alert_money_at_cost" in plan[1]


def test_history_in_one_range__tells_as_block_by_block_would(
    follower: Follower, unvalued: Unvalued
) -> None:
    """The indexer was away: many blocks come at once."""
    _, vault, venue = unvalued
    for data in (take(venue, 50 * USDC), give(venue, 50 * USDC), take(venue, 7)):
        follower.deployed.succeed(AGENT, vault, data)
        pass_time(follower, DAY_S // 2)
    follower.deployed.anvil.mine(40)
    follower.catch_up()
    assert at_cost(follower) == [("50.000000", False), ("0.000007", False)]
