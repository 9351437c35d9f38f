"""What each protection level does."""

from api.areas.safety.rules import takes_bond, welcomes_a_day
from tests.each import each


@each(("level", "credited"), [(0, 3), (1, 1), (2, 0), (3, 0)])
def test_a_level__credits_so_many_unowned_registrations_a_day(level: int, credited: int) -> None:
    assert welcomes_a_day(level, 3) == credited


@each(("at_level_0", "at_level_1"), [(0, 0), (1, 1), (2, 1)])
def test_level_1__never_credits_more_than_level_0(at_level_0: int, at_level_1: int) -> None:
    assert welcomes_a_day(1, at_level_0) == at_level_1


@each(("level", "bond"), [(0, False), (1, False), (2, True), (3, True)])
def test_a_bond__is_taken_from_level_2_on(level: int, bond: bool) -> None:
    assert takes_bond(level) is bond
