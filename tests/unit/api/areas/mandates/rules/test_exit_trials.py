"""How much a venue pays now: of everything, of a part, of nothing."""

from collections.abc import Callable, Sequence

from api.areas.mandates.rules.exit_trials import PARTS, Payable, payable
from tests.each import each

WHOLE = 256_000


def pays_up_to(most: int, asked: list[int]) -> Callable[[Sequence[int]], list[int | None]]:
    """A venue that pays two for a unit, up to so many units."""

    def tried(parts: Sequence[int]) -> list[int | None]:
        asked.append(len(parts))
        return [2 * units if units <= most else None for units in parts]

    return tried


def test_payable__all_of_it__is_found_by_one_trial() -> None:
    asked: list[int] = []
    assert payable(WHOLE, pays_up_to(WHOLE, asked)) == Payable(WHOLE, 2 * WHOLE)
    assert asked == [1]


@each(
    ("most", "found"),
    [
        (WHOLE - 1, 255_000),
        (128_000, 128_000),
        (127_999, 127_000),
        (1_000, 1_000),
        (999, 0),
        (0, 0),
    ],
)
def test_payable__a_part__is_found_to_a_256th(most: int, found: int) -> None:
    asked: list[int] = []
    assert payable(WHOLE, pays_up_to(most, asked)) == Payable(found, 2 * found)
    assert asked == [1, PARTS - 1, PARTS - 1]


@each(("units", "most"), [(1, 0), (2, 1), (17, 16), (5, 3)])
def test_payable__few_units__are_found_exactly(units: int, most: int) -> None:
    assert payable(units, pays_up_to(most, [])) == Payable(most, 2 * most)
