"""Figures of notes as text, in one form everywhere. What is not known is no text at all."""

from math import isfinite
from typing import Final

UNKNOWN: Final = "unknown"  # of a transfer: a state that venues leave open
NOTHING: Final = ""


def number(value: float | None) -> str:
    """From 10,000 on whole, from 100 on with two places, from 1 on with four, below with four
    significant figures; never with an exponent.
    """
    if value is None or not isfinite(value):
        return NOTHING
    size = abs(value)
    if size >= 10_000 or size == 0:
        return f"{value:,.0f}"
    if size < 1e-18:
        return "0"
    places = 2 if size >= 100 else 4 if size >= 1 else 3 - int(f"{value:e}".partition("e")[2])
    return f"{value:,.{places}f}".rstrip("0").rstrip(".")


def whole(value: float | None) -> str:
    """Dollars: 12,345."""
    return NOTHING if value is None or not isfinite(value) else f"{value:,.0f}"


def bps(value: float | None) -> str:
    return NOTHING if value is None or not isfinite(value) else f"{value:,.2f}"


def percent(share: float | None) -> str:
    return NOTHING if share is None or not isfinite(share) else f"{100 * share:.1f} %"


def transfer(is_open: bool | None) -> str:
    if is_open is None:
        return UNKNOWN
    return "open" if is_open else "closed"
