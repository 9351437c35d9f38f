"""What an area consists of (docs/architecture.md)."""

from pathlib import Path

import pytest

from tests.architecture.test_laws import ROOT

# Files, or folders of files.
PARTS = {
    *("__init__", "operations", "schemas", "service", "reasons", "jobs"),
    *("rules", "tables", "queries", "views", "ledger", "writes", "checks", "rendering"),
}
AREAS = sorted(
    place for place in (ROOT / "api" / "areas").iterdir() if (place / "__init__.py").exists()
)


@pytest.mark.parametrize("area", AREAS, ids=lambda place: place.name)
def test_an_area_has_parts_of_these_names_alone(area: Path) -> None:
    others = {part.stem for part in area.iterdir() if part.stem not in (*PARTS, "__pycache__")}

    assert not others, f"api/areas/{area.name}/: put {sorted(others)} into its service/"


def test_areas_are_found() -> None:
    assert len(AREAS) >= 9
