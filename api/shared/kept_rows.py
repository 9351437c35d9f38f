"""Rows of the board that this process has read and written once, by their version.

Law: a row is kept for the version that it was read of. A page asks the database which versions it
has now, so that a row that anybody wrote since is read again; what depends on the time or on other
tables is never kept. It is bounded: the row that was not asked for longest goes first.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from core.kept import Kept
from core.market.board_views import RowVersion

MOST_ROWS: Final = 8_192  # three kilobytes each


@dataclass(frozen=True, slots=True)
class KeptRow:
    """`fields`: shared by all who find it, and never changed."""

    fields: dict[str, Any]
    sampled_at: datetime | None
    every_s: int | None


class KeptRows:
    def __init__(self, most: int = MOST_ROWS) -> None:
        self._rows = Kept[int, tuple[RowVersion, KeptRow]](most)

    def find(self, version: RowVersion) -> KeptRow | None:
        known = self._rows.find(version.listing_id)
        return None if known is None or known[0] != version else known[1]

    def keep(self, version: RowVersion, row: KeptRow) -> None:
        self._rows.keep(version.listing_id, (version, row))
