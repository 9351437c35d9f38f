"""The tables whose rows stay as they are, of contexts and areas (core.db.base: LEDGER, LOG)."""

from api.tables import import_tables
from core.db.base import APPEND_ONLY, Base


def append_only() -> tuple[str, ...]:
    import_tables()
    return tuple(one.name for one in Base.metadata.sorted_tables if APPEND_ONLY in one.info)
