"""When a vault is stopped. Source: docs/rules.md#when-marks-are-sent, MandateVault.mark."""

from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper.jobs import stop_line
from keeper.state import SOURCE_AT_COST, IntentKind
from tests.each import each
from tests.unit.keeper.readings import FLOOR, HEAD, MAX_HEAD_AGE_S, NOW, VAULT, reading, state


def test_plan__worth_at_the_floor__stops() -> None:
    (action,) = stop_line.plan(state(reading(FLOOR)), NOW)
    assert (action.kind, action.to, action.worth_usdc_e6, action.head) == (
        IntentKind.STOP,
        VAULT,
        FLOOR,
        HEAD,
    )


def test_plan__one_base_unit_above_the_floor__does_nothing() -> None:
    assert stop_line.plan(state(reading(FLOOR + 1)), NOW) == []


def test_plan__worth_zero__stops() -> None:
    (action,) = stop_line.plan(state(reading(0)), NOW)
    assert action.worth_usdc_e6 == 0


def test_plan__worth_at_cost_at_the_floor__stops_and_says_that_it_is_at_cost() -> None:
    (action,) = stop_line.plan(state(reading(FLOOR, source=SOURCE_AT_COST)), NOW)
    assert (action.kind, action.source) == (IntentKind.STOP, "vault.worth_at_cost")


def test_plan__unknown_worth__does_nothing() -> None:
    assert stop_line.plan(state(reading(None)), NOW) == []


def test_plan__unknown_floor__does_nothing() -> None:
    assert stop_line.plan(state(reading(0, floor_usdc_e6=None)), NOW) == []


@each("status", [None, VaultStatus.FUNDING, VaultStatus.STOPPED, VaultStatus.SETTLED])
def test_plan__a_vault_that_is_not_working__does_nothing(status: VaultStatus | None) -> None:
    assert stop_line.plan(state(reading(0, status=status)), NOW) == []


def test_plan__a_stop_under_way__plans_no_second() -> None:
    assert stop_line.plan(state(reading(0, live=frozenset({IntentKind.STOP}))), NOW) == []


def test_plan__a_mark_under_way__does_not_hold_up_the_stop() -> None:
    assert len(stop_line.plan(state(reading(0, live=frozenset({IntentKind.MARK}))), NOW)) == 1


def test_plan__head_exactly_as_old_as_allowed__stops() -> None:
    assert len(stop_line.plan(state(reading(0)), UnixSeconds(HEAD.at + MAX_HEAD_AGE_S))) == 1


def test_plan__head_one_second_older_than_allowed__does_nothing() -> None:
    assert stop_line.plan(state(reading(0)), UnixSeconds(HEAD.at + MAX_HEAD_AGE_S + 1)) == []


def test_plan__this_clock_behind_the_chain__stops() -> None:
    assert len(stop_line.plan(state(reading(0)), UnixSeconds(HEAD.at - 3_600))) == 1


def test_plan__many_vaults__stops_only_those_at_or_below_their_floor() -> None:
    vaults = [reading(FLOOR + above, vault=f"0x{above + 5:040x}") for above in (-1, 0, 1)]
    assert [action.worth_usdc_e6 for action in stop_line.plan(state(*vaults), NOW)] == [
        FLOOR - 1,
        FLOOR,
    ]
