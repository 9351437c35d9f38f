"""What a seed brings: its commit point, its trouble and what ails a node."""

from enum import StrEnum

from tests.integration.keeper.chaos.node import Ill
from tests.integration.keeper.chaos.traps import Point


def due(seed: int) -> tuple[Point, bool]:
    """The commit point of a seed, and whether the commit goes through: any fourteen seeds in a row
    aim at all of them.
    """
    return list(Point)[seed % len(Point)], seed // len(Point) % 2 == 0


class Trouble(StrEnum):
    """What befalls the vaults or the keys in a story; the first three are moods of the third
    venue's adapter.
    """

    REVERTS = "reverts"
    BURNS = "burns its gas"
    HUGE = "answers 2^255"
    DRY = "a key runs dry"
    ROTATED = "the factory names another keeper"


def due_trouble(seed: int) -> Trouble:
    """Any five seeds in a row have all of them."""
    return list(Trouble)[seed % len(Trouble)]


def due_ill(seed: int) -> Ill:
    """What ails a node: any four seeds in a row have all of it."""
    return list(Ill)[seed % len(Ill)]
