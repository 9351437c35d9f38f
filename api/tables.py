"""Every table: those of the contexts (core/<context>/tables.py) and of the areas
(api/areas/<area>/tables.py), found by folder, so that a new one edits no list.
"""

from importlib import import_module
from pathlib import Path

from core.db import metadata

AREAS = Path(__file__).parent / "areas"


def import_tables() -> None:
    """Load them all, which makes `Base.metadata` whole."""
    metadata.import_tables()
    for file in sorted(AREAS.glob("*/tables.py")):
        import_module(f"api.areas.{file.parent.name}.tables")
