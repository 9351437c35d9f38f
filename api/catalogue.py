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

from api.kernel.catalogue import Catalogue
from api.kernel.operation import Area
from api.kernel.refusals import REASONS

AREAS = Path(__file__).parent / "areas"


def areas() -> tuple[Area, ...]:
    """In the order of their names, the tools' last. A folder may have slow jobs alone (jobs.py).

    Errors: ValueError where any other has no AREA.
    """
    files = (file for file in AREAS.glob("*/*.py") if file.stem not in ("__init__", "jobs"))
    folders = sorted({file.parent.name for file in files})
    return (*(area_of(f"api.areas.{folder}") for folder in folders), area_of("api.tools"))


def area_of(package: str) -> Area:
    module = f"{package}.operations"
    try:
        found = getattr(import_module(module), "AREA", None)
    except ModuleNotFoundError as error:
        if error.name not in (package, module):
            raise
        found = None
    if not isinstance(found, Area):
        raise ValueError(
            f"{package} is no area: {module} must export AREA, an Area (CONTRIBUTING.md#an-area)"
        )
    return found


@cache
def catalogue() -> Catalogue:
    """Errors: ValueError, when two areas do not agree."""
    return Catalogue(areas(), REASONS)
