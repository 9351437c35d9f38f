"""Write api/web/vendor/ from node_modules: `python -m scripts.vendor_web`, or `--check` in make check.

The console has no build step and its policy forbids an inline import map, so bare imports are rewritten to
the files beside them. vendor.json names package, version, licence and SHA-256 of each file.
"""

import argparse
import hashlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
TARGET = ROOT / "api" / "web" / "vendor"
BARE_IMPORT = re.compile(
    r"""(?P<before>\b(?:from|import)\s*)(?P<quote>["'])(?P<name>[@\w][^"']*)(?P=quote)"""
)
SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$|/\*# sourceMappingURL=.*\*/$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Vendored:
    """`name`: the file in api/web/vendor; `package` and `path`: where it comes from; `imported_as`: the
    bare names that stand for it, of which a file that is no module has none.
    """

    name: str
    package: str
    path: str
    imported_as: tuple[str, ...]


FILES = (
    Vendored("preact.js", "preact", "dist/preact.mjs", ("preact",)),
    Vendored("hooks.js", "preact", "hooks/dist/hooks.mjs", ("preact/hooks",)),
    Vendored("htm.js", "htm", "dist/htm.mjs", ("htm",)),
    Vendored(
        "signals-core.js",
        "@preact/signals-core",
        "dist/signals-core.mjs",
        ("@preact/signals-core",),
    ),
    Vendored("signals.js", "@preact/signals", "dist/signals.mjs", ("@preact/signals",)),
    Vendored(
        "charts.js",
        "lightweight-charts",
        "dist/lightweight-charts.standalone.production.mjs",
        ("lightweight-charts",),
    ),
    # what FastAPI's page of the API loads (api/kernel/docs_page.py)
    Vendored("swagger-ui.js", "swagger-ui-dist", "swagger-ui-bundle.js", ()),
    Vendored("swagger-ui.css", "swagger-ui-dist", "swagger-ui.css", ()),
)


class UnknownImportError(Exception):
    """A vendored file imports a package that is not vendored."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    is_check = parser.parse_args().check
    wanted = files()
    differing = [name for name, content in wanted.items() if _read(TARGET / name) != content]
    if not differing:
        return 0
    if is_check:
        print(
            f"api/web/vendor differs from node_modules: {', '.join(differing)}; run python -m scripts.vendor_web"
        )
        return 1
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in differing:
        (TARGET / name).write_bytes(wanted[name])
        print(f"wrote api/web/vendor/{name}")
    return 0


def files() -> dict[str, bytes]:
    """What api/web/vendor holds, by name. Errors: UnknownImportError, OSError."""
    by_import = {name: file.name for file in FILES for name in file.imported_as}
    found = {file.name: _rewritten(file, by_import) for file in FILES}
    packages = sorted({file.package for file in FILES})
    licences = "\n\n".join(f"{name}\n{'=' * len(name)}\n{_licence(name)}" for name in packages)
    found["LICENSES.txt"] = (licences + "\n").encode()
    rows = [
        {
            "file": file.name,
            "package": file.package,
            "version": _manifest(file.package)["version"],
            "licence": _manifest(file.package)["license"],
            "from": file.path,
            "sha256": hashlib.sha256(found[file.name]).hexdigest(),
        }
        for file in FILES
    ]
    found["vendor.json"] = (json.dumps(rows, indent=1) + "\n").encode()
    return found


def _rewritten(file: Vendored, by_import: dict[str, str]) -> bytes:
    """Errors: UnknownImportError."""

    def local(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in by_import:
            raise UnknownImportError(f"{file.package} imports {name}")
        return f"{match['before']}{match['quote']}./{by_import[name]}{match['quote']}"

    text = (MODULES / file.package / file.path).read_text()
    text = BARE_IMPORT.sub(local, text) if file.imported_as else text
    return SOURCE_MAP.sub("", text).strip().encode() + b"\n"


def _manifest(package: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((MODULES / package / "package.json").read_text())
    return found


def _licence(package: str) -> str:
    """Its own, and those of what it bundles."""
    folder = MODULES / package
    bundled = [f"{file.path}.LICENSE.txt" for file in FILES if file.package == package]
    names = ("LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE", *bundled)
    found = [(folder / name).read_text().strip() for name in names if (folder / name).exists()]
    if not found:
        raise UnknownImportError(f"{package} has no licence file")
    return "\n\n".join(found)


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
