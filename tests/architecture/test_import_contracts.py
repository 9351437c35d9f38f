"""Law 1 of docs/architecture.md as pyproject.toml has it: its contracts see a planted import."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_AREAS = ("law 1: of another area", "law 1: the kernel imports no area")


def lines_of(contract: dict[str, object]) -> str:
    """The contract as TOML; its values are strings and lists of strings."""
    return "[[tool.importlinter.contracts]]\n" + "".join(
        f"{key} = {value!r}\n" for key, value in contract.items()
    )


def linted(place: Path, importer: str, imported: str = "service") -> str:
    """What import-linter says of two areas and a kernel, where `importer` imports that of area two."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    chosen = [one for one in contracts["contracts"] if one["name"].startswith(OF_AREAS)]
    assert len(chosen) == 2
    for folder in ("api", "api/kernel", "api/areas", "api/areas/one", "api/areas/two"):
        (place / folder).mkdir()
        (place / folder / "__init__.py").touch()
    (place / "api" / "areas" / "two" / f"{imported}.py").touch()
    (place / importer).write_text(f"from api.areas.two import {imported}\n")
    (place / "pyproject.toml").write_text(
        '[tool.importlinter]\nroot_packages = ["api"]\n' + "".join(map(lines_of, chosen))
    )
    done = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=place,
        env={"PYTHONPATH": str(place), "COLUMNS": "200"},
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("api/areas/one/planted.py", "api.areas.one is not allowed to import api.areas.two"),
        ("api/kernel/planted.py", "api.kernel is not allowed to import api.areas"),
    ],
)
def test_an_import_of_an_area__by_a_neighbour_or_the_kernel__is_seen(
    tmp_path: Path, importer: str, imported: str
) -> None:
    assert imported in linted(tmp_path, importer)


@pytest.mark.parametrize("imported", ["rules", "queries", "views", "ledger", "writes"])
def test_what_an_area_lends__is_imported_by_another(tmp_path: Path, imported: str) -> None:
    assert "2 kept, 0 broken." in linted(tmp_path, "api/areas/one/planted.py", imported)


@pytest.mark.parametrize("imported", ["tables", "operations", "schemas", "jobs"])
def test_what_an_area_alone_has__is_imported_by_none(tmp_path: Path, imported: str) -> None:
    assert "1 broken." in linted(tmp_path, "api/areas/one/planted.py", imported)


def test_an_import_of_an_area__by_itself__is_kept(tmp_path: Path) -> None:
    assert "Contracts: 2 kept, 0 broken." in linted(tmp_path, "api/areas/two/planted.py")
