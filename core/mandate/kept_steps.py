"""Pages of steps as this process has made them: a page is read again when its ledger has grown, and not
for each who looks at it.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from core.kept import Kept

MOST_BYTES: Final = 15_000_000  # of all pages that are kept, as JSON; a step's note may be long
_PAGE_BYTES: Final = 1_000


@dataclass(frozen=True, slots=True)
class StepsPage:
    """`steps`: newest first, shared and never changed; `last`: the last group's place when more
    follow.
    """

    steps: tuple[dict[str, Any], ...]
    last: int | None


@dataclass(frozen=True, slots=True)
class PlaceOfSteps:
    """`before`: the place below which the page is; None: the newest page."""

    mandate_id: int
    before: int | None
    limit: int


class KeptSteps:
    """Of each page its newest version alone, so that a ledger which grows leaves none behind."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._pages = Kept[PlaceOfSteps, tuple[Hashable, StepsPage]](most, _bytes_of)

    def page_of(
        self, place: PlaceOfSteps, version: Hashable, make: Callable[[], StepsPage]
    ) -> StepsPage:
        """`version`: of all that the page is made of."""
        known = self._pages.find(place)
        if known is None or known[0] != version:
            self._pages.keep(place, known := (version, make()))
        return known[1]


def _bytes_of(kept: tuple[Hashable, StepsPage]) -> int:
    return _PAGE_BYTES + len(msgspec.json.encode(kept[1].steps))
