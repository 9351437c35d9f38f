"""What is published once a UTC day, and computed again when more is known
(docs/market-store.md#published-days).

    computed --first--> version 1 --late_inputs | correction--> version 2 --> ...

Laws
- A version is a row that is only ever added. The newest one is shown, the others can be read.
- Each is as of the same moment as the first: the clock alone changes no figure. A version without
  a figure fixes no moment: the next one is as of its own, and follows once there is a figure.
- A version is written only if a figure changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, TypeAlias

Figures: TypeAlias = Mapping[str, Any]
"""What is published, as JSON."""


class PublishCause(StrEnum):
    """Why a version was published. CORRECTION: the rules differ from the previous version's."""

    FIRST = "first"
    LATE_INPUTS = "late_inputs"
    CORRECTION = "correction"


@dataclass(frozen=True, slots=True)
class PublishedSeries:
    """`subject`: whose days they are. `rules`: the version of those that compute them. `has_figure`:
    whether anything can be said yet. `compared`: what makes another version when it changes.
    """

    subject: str
    rules: str
    has_figure: Callable[[Figures], bool]
    compared: Callable[[Figures], Any]


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """`as_of`: what happened later is not in it, whenever it was computed."""

    subject: str
    day: date
    version: int
    as_of: datetime
    computed_at: datetime
    cause: PublishCause
    rules: str
    figures: Figures


def as_of(series: PublishedSeries, before: PublishedVersion | None, fresh: datetime) -> datetime:
    """The moment for which a day is to be computed; `fresh`: that of a day that has none yet."""
    return before.as_of if before is not None and series.has_figure(before.figures) else fresh


def cause_of(
    series: PublishedSeries, before: PublishedVersion | None, at: datetime, figures: Figures
) -> PublishCause | None:
    """Why `figures`, computed as of `at`, are another version of the day; None: they are none."""
    if before is None:
        return PublishCause.FIRST
    is_known = series.has_figure(before.figures)
    if is_known and at != before.as_of:
        return None  # another process published while these were computed
    if not is_known and not series.has_figure(figures):
        return None
    if series.compared(figures) == series.compared(before.figures):
        return None
    is_of_rules = before.rules == series.rules
    return PublishCause.LATE_INPUTS if is_of_rules else PublishCause.CORRECTION
