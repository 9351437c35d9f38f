"""What the grades of an asset's venues come to, and which assets stand lowest
(docs/market.md#gpa-and-watchlist).

Laws
- An asset's grade is its best venue's, `worst` its worst graded venue's.
- The GPA is the mean over venues of each one's mean over seven days: a venue counts once, however
  many hours it was graded.
- What has no grade is counted, and on no list.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from core.market.rules.grade import Letter

POINTS: Final = {Letter.A: 4, Letter.B: 3, Letter.C: 2, Letter.D: 1, Letter.F: 0}
WATCHLIST_PERCENT: Final = 5
MOST_PERCENT: Final = 50


@dataclass(frozen=True, slots=True)
class AssetGrade:
    """All None: no venue of it is graded. `venues`: graded ones."""

    grade: Letter | None
    worst: Letter | None
    gpa_7d: float | None
    venues: int


@dataclass(frozen=True, slots=True)
class GradedToken:
    token: str
    grade: AssetGrade


@dataclass(frozen=True, slots=True)
class Watchlist:
    """`graded`: N of the percentage; `unknown`: tokens without a grade, not listed."""

    tokens: tuple[GradedToken, ...]
    graded: int
    unknown: int
    percent: int


def gpa(hourly: Iterable[Sequence[Letter | None]]) -> float | None:
    """0 to 4; hours without a grade are left out, and venues without such hours."""
    means = [
        sum(points) / len(points)
        for letters in hourly
        if (points := [POINTS[letter] for letter in letters if letter is not None])
    ]
    return sum(means) / len(means) if means else None


def watchlist(tokens: Iterable[GradedToken], percent: int = WATCHLIST_PERCENT) -> Watchlist:
    """The lowest `percent` of graded tokens, rounded up: lowest GPA, then worst letter, then name.

    Errors: ValueError outside 1 to 50.
    """
    if not 1 <= percent <= MOST_PERCENT:
        raise ValueError(f"percent is {percent}, not within 1 to {MOST_PERCENT}")
    ranked, unknown = [], 0
    for one in tokens:
        if one.grade.gpa_7d is None or one.grade.worst is None:
            unknown += 1
        else:
            ranked.append((one.grade.gpa_7d, POINTS[one.grade.worst], one.token, one))
    ranked.sort(key=lambda row: row[:3])
    count = -(-len(ranked) * percent // 100)
    return Watchlist(tuple(row[3] for row in ranked[:count]), len(ranked), unknown, percent)
