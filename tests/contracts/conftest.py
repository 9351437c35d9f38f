"""Solidity tests as pytest items: `pytest tests/contracts/MandateVault/execute.t.sol` runs that
file through forge.

forge runs once for all selected files; each `test*` function of a `.t.sol` file is one item that
reports forge's verdict.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
TEST_FUNCTION = re.compile(r"^\s*function\s+(test\w*|invariant_\w+)\s*\(", re.MULTILINE)


class ForgeRun:
    """One run of forge for the session: every result by (file, function)."""

    def __init__(self) -> None:
        self.results: dict[tuple[str, str], dict[str, Any]] | None = None

    def of(self, file: str, function: str, files: set[str]) -> dict[str, Any] | None:
        if self.results is None:
            self.results = self._run(files)
        return self.results.get((file, function))

    def _run(self, files: set[str]) -> dict[tuple[str, str], dict[str, Any]]:
        match = ["--match-path", files.pop()] if len(files) == 1 else []
        done = subprocess.run(
            [FORGE, "test", "--json", *match],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
        try:
            suites = json.loads(done.stdout[done.stdout.index("{") :])
        except ValueError:
            pytest.exit(
                f"forge did not run:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}", returncode=1
            )
        return {
            (suite.split(":")[0], test.split("(")[0]): result
            for suite, report in suites.items()
            for test, result in report["test_results"].items()
        }


FORGE_RUN = pytest.StashKey[ForgeRun]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FORGE_RUN] = ForgeRun()


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    return (
        ForgeFile.from_parent(parent, path=file_path) if file_path.name.endswith(".t.sol") else None
    )


class ForgeFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        for name in TEST_FUNCTION.findall(self.path.read_text()):
            yield ForgeItem.from_parent(self, name=name)


class ForgeItem(pytest.Item):
    def runtest(self) -> None:
        files = {
            str(item.path.relative_to(ROOT))
            for item in self.session.items
            if isinstance(item, ForgeItem)
        }
        result = self.config.stash[FORGE_RUN].of(str(self.path.relative_to(ROOT)), self.name, files)
        if result is None:
            raise ForgeFailure("forge ran no such test")
        if result["status"] != "Success":
            raise ForgeFailure(
                f"{result.get('reason')} {result.get('counterexample') or ''}\n"
                + "\n".join(result.get("decoded_logs") or [])
            )

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: object) -> str:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.path.stem}::{self.name}"


class ForgeFailure(Exception):
    """A Solidity test failed."""
