"""The tables whose rows stay as they are, of contexts and areas (core.db.base: LEDGER, LOG)."""

from api.tables import import_tables
from core.db.base import APPEND_ONLY, Base


def append_only(kind: str | None = None) -> tuple[str, ...]:
    """Of that kind, `ledger` or `log`, or of both."""
    import_tables()
    kinds = {one.name: one.info.get(APPEND_ONLY) for one in Base.metadata.sorted_tables}
    return tuple(
        name for name, found in kinds.items() if found is not None and found == (kind or found)
    )
