"""Which version of a published day an answer shows, and how another is asked for
(docs/market-store.md#published-days).
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Annotated, Final

from pydantic import Field, WithJsonSchema

from api.kernel.fields import WHOLE, InstantText
from api.kernel.operation import AnswerBody
from core.errors import InvalidParameterError
from core.published.rules import PublishCause, PublishedVersion

_DAY: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
# its form is looked at by `chosen_version`, whose refusal says it in words
UtcDay = Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{_DAY}$"})]
VersionNumber = Annotated[int, Field(ge=1, le=1_000_000), WHOLE]


class Publication(AnswerBody):
    day: str
    version: int = Field(description="version within the day, from 1; by default the newest")
    as_of: InstantText = Field(description="the figures include nothing later than this")
    computed_at: InstantText
    cause: PublishCause = Field(
        description="why this version was published; late_inputs: more is known about that "
        "moment; correction: the rules changed"
    )


def publication(found: PublishedVersion) -> Publication:
    return Publication.of(found, day=found.day.isoformat())


def chosen_version(
    read: Callable[[date | None, int | None], PublishedVersion | None],
    day: tuple[str, str | None],
    version: tuple[str, int | None],
) -> PublishedVersion | None:
    """The version that a call asks for; without `day` and `version` the newest, if there is one. Each
    is the field's name and value. Errors: InvalidParameterError.
    """
    (day_field, text), (version_field, number) = day, version
    found = read(None if text is None else _day(day_field, text), number)
    if found is None and number is not None:
        raise InvalidParameterError(version_field, "the day has no such version; leave it out")
    if found is None and text is not None:
        raise InvalidParameterError(day_field, "nothing was published on this day; leave it out")
    return found


def _day(field: str, text: str) -> date:
    try:
        if re.fullmatch(_DAY, text, re.ASCII):
            return date.fromisoformat(text)
    except ValueError:
        pass  # no day of a calendar
    raise InvalidParameterError(field, "write a day such as 2026-11-21")
