"""How much of what could be known of listings is known (docs/mining.md#landscape).

    slots      fields that apply, summed over all listings
    filled     slots with an approved value

Law: the figures of the groups sum to those of the whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from api.areas.mining.rules.registry import FIELDS, FieldGroup


@dataclass(frozen=True, slots=True)
class GroupFigures:
    group: FieldGroup
    slots: int
    filled: int
    facts_24h: int


@dataclass(frozen=True, slots=True)
class LandscapeFigures:
    """`simulated_listings`: of the `listings`. `tokens`: tickers, each once; `tokens_zero_facts`: those
    that no listing has a value of.
    """

    groups: tuple[GroupFigures, ...]
    listings: int
    simulated_listings: int
    tokens: int
    tokens_zero_facts: int

    @property
    def slots(self) -> int:
        return sum(one.slots for one in self.groups)

    @property
    def filled(self) -> int:
        return sum(one.filled for one in self.groups)

    @property
    def facts_24h(self) -> int:
        return sum(one.facts_24h for one in self.groups)


def percent_text(filled: int, slots: int) -> str | None:
    """With one decimal, rounded down: 2 of 3 are "66.6". Of no slots: unknown."""
    if slots == 0:
        return None
    tenths = filled * 1_000 // slots
    return f"{tenths // 10}.{tenths % 10}"


def by_group(of_field: Mapping[str, int]) -> dict[FieldGroup, int]:
    """Sums of fields' figures."""
    sums = dict.fromkeys(FieldGroup, 0)
    for name, figure in of_field.items():
        sums[FIELDS[name].group] += figure
    return sums
