"""What the grades of an asset's venues come to, and how many stand on the critical watchlist
(docs/market.md#gpa-and-watchlist). The figures: core/market/grading.py; the list:
core.market.board_views.watched.
"""

from dataclasses import dataclass
from typing import Final

from core.market.rules.grade import Letter

WATCHLIST_PERCENT: Final = 5
MOST_PERCENT: Final = 50


@dataclass(frozen=True, slots=True)
class AssetGrade:
    """All None: no venue of it is graded. `venues`: graded ones."""

    grade: Letter | None
    worst: Letter | None
    gpa_7d: float | None
    venues: int
