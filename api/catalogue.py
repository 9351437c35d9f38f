"""Every area, found by folder, so that a new one edits no list: api/areas/<area>/operations.py and
api/tools/operations.py export AREA.

Laws
- A route that does not exist yet is absent, never a stub.
- `/agent/catalog`, the discovery document, the next calls of refusals, OpenAPI, the client and the
  tool list are generated from here.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

from api.kernel.operation import Area, Catalogue
from api.kernel.refusals import REASONS

AREAS = Path(__file__).parent / "areas"


def areas() -> tuple[Area, ...]:
    """In the order of their names, the tools' last.

    Errors: ImportError, and AttributeError where a folder has no AREA.
    """
    folders = sorted(file.parent.name for file in AREAS.glob("*/operations.py"))
    modules = [*(f"api.areas.{folder}.operations" for folder in folders), "api.tools.operations"]
    return tuple(import_module(module).AREA for module in modules)


@cache
def catalogue() -> Catalogue:
    """Errors: ValueError, when two areas do not agree."""
    return Catalogue(areas(), REASONS)
