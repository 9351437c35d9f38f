"""Figures of markets as answers show them: numbers of eight significant digits."""

from collections.abc import Sequence
from math import isfinite
from typing import Final, cast

import numpy as np


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
