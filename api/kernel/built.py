"""Answers of many rows, built as the JSON objects that their models declare.

    handler          Answer(BuiltBody[BoardPage]({...}))     its bytes are made on the call's thread
    pipeline         the body as it is                       nothing is validated or copied again;
                                                             another's bytes are made here, beside the event loop
    tests            the body equals what the model itself would write of it

Validating two hundred rows of forty fields costs more than reading them. The declared model stays
the documentation (OpenAPI, client, tools), and tests hold each body to it.
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
import numpy as np
from pydantic import BaseModel

from core.texts import escaped_json, shown_json

ModelT = TypeVar("ModelT", bound=BaseModel, covariant=True)

encoded: Final = msgspec.json.Encoder().encode
"""The JSON of an object, in UTF-8; a float that is not finite is null."""

# Lines that their hashes are checked against, and what the specification keeps verbatim.
EXACT: Final = frozenset({"rules", "stop_conditions"})
_MAY_HIDE: Final = re.compile(rb"[\x7f-\xff]|\\[bfru]")


class BuiltBody(dict[str, Any], Generic[ModelT]):
    """What a model of that type would be sent as, with its bytes (`text`): JSON values alone, unset
    fields left out.

    The one place where what was stored before the rules of texts is made to be seen
    (core/texts.py): `\\u{202e}` in each value, JSON's own escape in what is `EXACT`.
    """

    __slots__ = ("text",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        text: bytes = encoded(fields)
        if _MAY_HIDE.search(text) and (shown := shown_json(fields, EXACT)) != fields:
            fields, text = shown, encoded(shown)
        super().__init__(fields)
        self.text = text if text.isascii() else escaped_json(text.decode()).encode()


def short(value: float | None) -> float | None:
    """Eight significant digits; what is not finite is not known."""
    if value is None or not isfinite(value):
        return None
    return float(f"{value:.8g}")


_DIGITS: Final = 8
_PLAIN: Final = (1e-14, 1e14)  # where the powers of ten that are used are exact


def shorts(values: Sequence[float | None]) -> list[float | None]:
    """As `short` of each, in a fifth of the time; of two neighbours as near, either may come."""
    given = np.array(values, dtype=np.float64)
    sizes = np.abs(given)
    is_plain = (sizes >= _PLAIN[0]) & (sizes < _PLAIN[1])
    plain = np.where(is_plain, given, 1.0)
    places = _DIGITS - 1 - np.floor(np.log10(np.abs(plain)))
    power = 10.0 ** np.abs(places)
    rounded = np.where(
        places >= 0, np.rint(plain * power) / power, np.rint(plain / power) * power
    ).tolist()
    for place in np.flatnonzero(~is_plain).tolist():
        rounded[place] = short(values[place])
    return cast("list[float | None]", rounded)
