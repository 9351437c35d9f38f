"""Every table of every context, found by folder, so that a new context edits no list:
`import_tables()` makes `Base.metadata` whole.

A table whose rows are only ever added says so in its own declaration (core.db.base: LEDGER, LOG);
triggers and grants follow from it.
"""

from importlib import import_module
from pathlib import Path

from core.db.base import APPEND_ONLY, Base

CORE = Path(__file__).parents[1]


def contexts() -> list[str]:
    """The folders of core that have tables."""
    return sorted(file.parent.name for file in CORE.glob("*/tables.py"))


def import_tables() -> None:
    """Load the tables of all contexts, and with them the foreign keys between them; and the
    database's own, `leader`.
    """
    import_module("core.db.leadership")
    for context in contexts():
        import_module(f"core.{context}.tables")


def append_only(kind: str | None = None) -> tuple[str, ...]:
    """The tables whose rows stay as they are: of that kind (LEDGER or LOG), or of both."""
    import_tables()
    kinds = {table.name: table.info.get(APPEND_ONLY) for table in Base.metadata.sorted_tables}
    return tuple(
        name for name, found in kinds.items() if found is not None and found == (kind or found)
    )
