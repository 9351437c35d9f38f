"""Which marks above the floor are sent, and which are only written down.

Source: docs/rules.md#when-marks-are-sent.
"""

from datetime import UTC, datetime

from core.keeper.views import Mark, SourcedMark
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, UsdcE6
from keeper import plan
from keeper.state import (
    SOURCE_AT_COST,
    SOURCE_VAULT_WORTH,
    IntentKind,
    VaultReading,
)
from tests.each import each
from tests.unit.keeper.readings import (
    BUDGET,
    CREATED_AT,
    FLOOR,
    HEAD,
    MAX_HEAD_AGE_S,
    NOW,
    USDC,
    reading,
    state,
)

ONE_PERCENT = BUDGET // 100
DAY_S = 86_400
WHEN = datetime.fromtimestamp(NOW, UTC)


def why(a_reading: VaultReading, now: int = NOW) -> str | None:
    return plan.why_marked(a_reading, HEAD, UnixSeconds(now))


# What is sent


@each("moved", [ONE_PERCENT, -ONE_PERCENT, 3 * ONE_PERCENT])
def test_plan__worth_moved_by_one_percent_or_more__is_sent(moved: int) -> None:
    (action,) = plan.marks(state(reading(BUDGET + moved)), NOW)
    assert (action.kind, action.worth_usdc_e6, action.why) == (
        IntentKind.MARK,
        BUDGET + moved,
        "moved",
    )


@each("moved", [ONE_PERCENT - 1, -(ONE_PERCENT - 1), 0])
def test_plan__worth_moved_by_one_base_unit_less__is_not_sent(moved: int) -> None:
    assert plan.marks(state(reading(BUDGET + moved)), NOW) == []


def test_why_due__measures_against_the_last_one_sent() -> None:
    sent = Mark(UsdcE6(2_000 * USDC), 400, WHEN)
    assert why(reading(2_020 * USDC, last_sent=sent)) == "moved"
    assert why(reading(2_020 * USDC - 1, last_sent=sent)) is None


def test_why_due__a_small_move__is_sent_when_the_last_mark_is_a_day_old() -> None:
    assert why(reading(BUDGET + 1), CREATED_AT + DAY_S) == "daily"
    assert why(reading(BUDGET + 1), CREATED_AT + DAY_S - 1) is None


def test_why_due__no_move_at_all__is_never_sent() -> None:
    assert why(reading(BUDGET), CREATED_AT + 30 * DAY_S) is None


def test_plan__at_the_floor__leaves_it_to_the_stop_line() -> None:
    assert plan.marks(state(reading(FLOOR)), NOW) == []
    assert len(plan.marks(state(reading(FLOOR + 1)), NOW)) == 1


def test_plan__unknown_worth__is_not_sent() -> None:
    assert plan.marks(state(reading(None)), NOW) == []


@each("status", [None, VaultStatus.FUNDING, VaultStatus.STOPPED, VaultStatus.SETTLED])
def test_plan__a_vault_that_is_not_working__is_not_marked(status: VaultStatus | None) -> None:
    assert plan.marks(state(reading(2 * BUDGET, status=status)), NOW) == []


@each("kind", list(IntentKind))
def test_plan__something_under_way__waits_for_it(kind: IntentKind) -> None:
    assert plan.marks(state(reading(2 * BUDGET), live=kind), NOW) == []


def test_plan__no_block_since_the_last_mark__waits_because_heights_must_rise() -> None:
    assert (
        plan.marks(state(reading(2 * BUDGET, last_sent=Mark(BUDGET, HEAD.number, WHEN))), NOW) == []
    )
    assert (
        len(
            plan.marks(
                state(reading(2 * BUDGET, last_sent=Mark(BUDGET, HEAD.number - 1, WHEN))), NOW
            )
        )
        == 1
    )


def test_plan__stale_head__sends_nothing() -> None:
    moved = reading(2 * BUDGET)
    assert len(plan.marks(state(moved, head_age_s=MAX_HEAD_AGE_S), NOW)) == 1
    assert plan.marks(state(moved, head_age_s=MAX_HEAD_AGE_S + 1), NOW) == []


def test_no_vault__is_both_stopped_and_marked() -> None:
    for worth in range(940 * USDC, 1_060 * USDC, USDC):
        one = reading(worth)
        assert not (plan.is_fallen(one) and plan.marks(state(one), NOW))


# What is written down


def written(worth_usdc_e6: int | None, block_number: int, at: int) -> SourcedMark:
    return SourcedMark(
        None if worth_usdc_e6 is None else UsdcE6(worth_usdc_e6),
        block_number,
        datetime.fromtimestamp(at, UTC),
        SOURCE_VAULT_WORTH,
    )


def is_written(a_reading: VaultReading, now: int = NOW) -> bool:
    return plan.judgements(state(a_reading), UnixSeconds(now)) == [a_reading]


def test_rows_to_write__first_reading__is_written() -> None:
    assert is_written(reading(BUDGET))


def test_rows_to_write__a_move_of_1_percent__is_written_at_once() -> None:
    assert is_written(
        reading(BUDGET + BUDGET // 100, last_written=written(BUDGET, HEAD.number - 1, NOW))
    )
    assert is_written(
        reading(BUDGET - BUDGET // 100, last_written=written(BUDGET, HEAD.number - 1, NOW))
    )


def test_rows_to_write__a_worth_that_moves_less_with_each_block__is_written_once_a_minute() -> None:
    moved = reading(BUDGET + 1, last_written=written(BUDGET, HEAD.number - 1, NOW))
    assert not is_written(moved)
    assert is_written(
        reading(BUDGET + 1, last_written=written(BUDGET, HEAD.number - 1, UnixSeconds(NOW - 60)))
    )
    assert plan.judgements(state(moved), NOW, {moved.vault}) == [moved], (
        "what led to an action is kept"
    )


def test_rows_to_write__the_floor_crossed_either_way__is_written_at_once() -> None:
    assert is_written(reading(FLOOR, last_written=written(UsdcE6(FLOOR + 1), HEAD.number - 1, NOW)))
    assert is_written(reading(FLOOR + 1, last_written=written(FLOOR, HEAD.number - 1, NOW)))


def test_rows_to_write__the_same_worth_from_another_source__is_written_at_once() -> None:
    at_cost = reading(
        BUDGET, source=SOURCE_AT_COST, last_written=written(BUDGET, HEAD.number - 1, NOW)
    )
    assert is_written(at_cost)


def test_rows_to_write__unchanged_worth__is_written_once_a_minute() -> None:
    same = reading(BUDGET, last_written=written(BUDGET, HEAD.number - 30, NOW - 60))
    assert is_written(same, NOW)
    assert not is_written(same, NOW - 1)


def test_rows_to_write__unchanged_worth_at_the_same_block__is_not_written() -> None:
    assert not is_written(reading(BUDGET, last_written=written(BUDGET, HEAD.number, NOW - 600)))


def test_rows_to_write__worth_became_unknown__is_written_as_unknown() -> None:
    assert is_written(reading(None, last_written=written(0, HEAD.number - 1, NOW)))


def test_rows_to_write__a_vault_without_its_whole_budget__is_no_judgement() -> None:
    assert not is_written(reading(0, status=VaultStatus.FUNDING))


def test_rows_to_write__stale_head__is_no_judgement() -> None:
    one = reading(BUDGET)
    assert plan.judgements(state(one, head_age_s=MAX_HEAD_AGE_S), NOW) == [one]
    assert plan.judgements(state(one, head_age_s=MAX_HEAD_AGE_S + 1), NOW) == []
