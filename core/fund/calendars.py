"""The calendars that are kept: one text file each, read once."""

from functools import cache
from pathlib import Path

from core.fund.rules.sessions import TradingCalendar, calendar_of

FOLDER = Path(__file__).parent / "calendar_files"


@cache
def kept() -> dict[str, TradingCalendar]:
    """By name, the ISO 10383 code of the exchange."""
    return {file.stem: calendar_of(file.stem, file.read_text()) for file in FOLDER.glob("*.txt")}
