"""The tables of every context, found by folder, so that a new context edits no list.

The areas of the API have tables too, which core does not know: who needs all of them loads them
(api/tables.py). A table whose rows are only ever added says so in its own declaration
(core.db.base: LEDGER, LOG).
"""

from importlib import import_module
from pathlib import Path

CORE = Path(__file__).parents[1]


def import_tables() -> None:
    """Load the tables of all contexts, and with them the foreign keys between them; and the
    database's own, `leader`.
    """
    import_module("core.db.leadership")
    for file in sorted(CORE.glob("*/tables.py")):
        import_module(f"core.{file.parent.name}.tables")
