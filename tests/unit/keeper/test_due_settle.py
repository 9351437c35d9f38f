"""When the keeper settles: in the day after the end, by the block's time."""

from dataclasses import replace

from core.keeper.rules import LacksMark
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, UsdcE6
from keeper import plan
from keeper.state import IntentKind
from tests.each import each
from tests.unit.keeper.readings import (
    BUDGET,
    FLOOR,
    HEAD,
    MAX_HEAD_AGE_S,
    NOW,
    VAULT,
    reading,
    state,
)

DAY_S = 86_400


def ended(ago_s: int, **changes: object) -> list[str]:
    """What is planned for a vault that ended that long before the block."""
    actions = plan.settlements(
        state(reading(BUDGET, ends_at=UnixSeconds(HEAD.timestamp - ago_s), **changes)), NOW
    )
    return [action.kind for action in actions]


@each(("ago_s", "planned"), [(-1, []), (0, ["settle"]), (DAY_S - 1, ["settle"]), (DAY_S, [])])
def test_plan__from_the_end_on_until_a_day_after_it(ago_s: int, planned: list[str]) -> None:
    assert ended(ago_s) == planned


def test_plan__no_end_known__settles_nothing() -> None:
    assert plan.settlements(state(reading(BUDGET)), NOW) == []


@each(("fee", "planned"), [(None, []), (0, []), (1, ["settle"])])
def test_plan__stopped_vault__only_for_a_fee(fee: int | None, planned: list[str]) -> None:
    owed = None if fee is None else UsdcE6(fee)
    assert ended(0, status=VaultStatus.STOPPED, fee_owed_usdc_e6=owed) == planned


@each("status", [None, VaultStatus.FUNDING, VaultStatus.SETTLED])
def test_plan__nothing_to_settle_or_unknown__is_left_alone(status: VaultStatus | None) -> None:
    assert ended(0, status=status, fee_owed_usdc_e6=UsdcE6(5)) == []


def test_plan__one_under_way__plans_no_second() -> None:
    due = reading(BUDGET, ends_at=UnixSeconds(HEAD.timestamp))
    assert plan.settlements(state(due, live=IntentKind.SETTLE), NOW) == []


def test_plan__worth_unknown__settles_all_the_same() -> None:
    (action,) = plan.settlements(state(reading(None, ends_at=UnixSeconds(HEAD.timestamp))), NOW)
    assert (action.to, action.why, action.reason()["worth_usdc"]) == (VAULT, "ended", None)


def test_plan__stale_head__settles_nothing() -> None:
    ended_now = reading(BUDGET, ends_at=UnixSeconds(HEAD.timestamp))
    assert plan.settlements(state(ended_now, head_age_s=MAX_HEAD_AGE_S), NOW) != []
    assert plan.settlements(state(ended_now, head_age_s=MAX_HEAD_AGE_S + 1), NOW) == []


def test_plan__the_mark_of_the_terms_end_is_due__it_goes_first_if_it_can_be_had() -> None:
    """A vault that settled without a stop takes no mark."""
    assert ended(0, lacks_mark=LacksMark.OVER) == []
    due = reading(BUDGET, ends_at=UnixSeconds(HEAD.timestamp), lacks_mark=LacksMark.OVER)
    assert plan.why_marked(due, HEAD, NOW) == "terms_ended"
    early = reading(BUDGET, ends_at=UnixSeconds(HEAD.timestamp + 1), lacks_mark=LacksMark.OVER)
    assert plan.why_marked(early, HEAD, NOW) is None

    fallen = replace(due, worth_usdc_e6=FLOOR)
    assert plan.why_marked(fallen, HEAD, NOW) == "terms_ended", "no other stop is taken then"

    unknown = replace(due, worth_usdc_e6=None)
    assert [one.kind for one in plan.settlements(state(unknown), NOW)] == ["settle"]
