"""Which books are due: targets first, and a share for the others."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from indexer.venues.scan_plan import DueBooks, due
from tests.each import each

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:04}" for number in range(count)]


def plan(targets: int, others: int, budget: int, minute: int = 0) -> DueBooks:
    first = names("T", targets)
    listed = first + names("X", others)
    return due(listed, first, budget, NOON + timedelta(minutes=minute))


@each(
    ("targets", "budget", "chosen", "target_every_s", "others", "other_every_s"),
    [
        (40, 600, 40, 60, 500, 240),  # 2,000 in turns of 560
        (450, 600, 450, 60, 143, 840),  # the most targets that a minute has
        (451, 600, 226, 120, 334, 360),  # one more: in two turns
        (600, 600, 300, 120, 286, 420),
        (900, 600, 450, 120, 143, 840),
        (9_000, 600, 450, 1_200, 143, 840),
    ],
)
def test_targets_at_or_above_the_budget__leave_a_quarter_to_the_others(
    targets: int,
    budget: int,
    chosen: int,
    target_every_s: int,
    others: int,
    other_every_s: int,
) -> None:
    found = plan(targets, 2_000, budget)

    assert (len(found.targets), found.target_every_s) == (chosen, target_every_s)
    assert (len(found.others), found.other_every_s) == (others, other_every_s)
    assert len(found.all) <= budget


def test_without_others__targets_have_the_whole_minute() -> None:
    assert len(plan(600, 0, 600).targets) == 600


def test_few_others__are_left_no_more_than_they_are() -> None:
    found = plan(598, 2, 600)
    assert (len(found.targets), len(found.others)) == (598, 2)


@pytest.mark.parametrize("budget", [0, 1])
def test_a_budget_of_one__gives_every_pair_its_turn(budget: int) -> None:
    seen = Counter(name for minute in range(14) for name in plan(3, 4, budget, minute).all)
    assert set(seen.values()) == {2}
    assert plan(3, 4, budget).every_s("T0000") == plan(3, 4, budget).every_s("X0000") == 420


def test_every_pair__is_looked_at_as_often_as_is_said() -> None:
    minutes = 7 * 2 * 14
    seen = Counter(name for minute in range(minutes) for name in plan(900, 2_000, 600, minute).all)
    assert {seen[name] for name in names("T", 900)} == {minutes // 2}
    assert {seen[name] for name in names("X", 2_000)} == {minutes // 14}
