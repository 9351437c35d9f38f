"""Pages of steps as this process has made them: a page is read again when its ledger has grown, and not
for each who looks at it.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from core.kept import KeptNewest

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


class KeptSteps(KeptNewest[PlaceOfSteps, StepsPage]):
    def __init__(self, most: int = MOST_BYTES) -> None:
        super().__init__(most, lambda of: _PAGE_BYTES + len(msgspec.json.encode(of[1].steps)))
