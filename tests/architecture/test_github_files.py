"""Files that GitHub and Renovate read parse, and name scripts, folders and versions that exist."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
LOCKS = [
    "requirements.lock",
    "requirements-demo.lock",
    "requirements-run.lock",
    "requirements-audit.lock",
]


def text(name: str) -> str:
    return (ROOT / name).read_text()


def workflow(name: str = "ci") -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(text(f".github/workflows/{name}.yml"))
    return loaded


def test_the_workflow__runs_the_same_script_as_everybody() -> None:
    commands = [step["run"] for step in workflow()["jobs"]["ci"]["steps"] if "run" in step]

    assert commands[-1] == ".ci/run"
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_the_weekly_workflow__runs_targets_that_there_are() -> None:
    targets = workflow("weekly")["jobs"]["slow"]["strategy"]["matrix"]["target"]

    assert set(targets) <= set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("name", ["ci", "weekly"])
def test_a_workflow__pins_each_action_by_commit_and_names_its_version(name: str) -> None:
    uses = re.findall(r"uses: (.+)", text(f".github/workflows/{name}.yml"))

    assert uses
    assert [
        one for one in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)
    ] == []


def test_the_workflow__tests_each_python_that_the_project_allows() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    allowed = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"])
    matrix = workflow()["jobs"]["ci"]["strategy"]["matrix"]["python"]

    assert allowed
    assert matrix == [f"3.{minor}" for minor in range(int(allowed[1]), int(allowed[2]))]


def test_codeowners__names_a_team_for_everything() -> None:
    rows = [
        line.split() for line in text(".github/CODEOWNERS").splitlines() if line and line[0] != "#"
    ]

    assert rows[0][0] == "*"
    assert all(re.fullmatch(r"@[\w-]+/[\w-]+", owner) for _, *owners in rows for owner in owners)


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock__names_the_command_that_make_lock_runs(lock: str) -> None:
    """Renovate repeats that command, and takes options with an equals sign only."""
    command = text(lock).splitlines()[1].removeprefix("#    ")
    options = command.removeprefix("uv pip compile ")

    assert "://" not in text(lock)
    assert f"--output-file={lock}" in command
    assert f"@$(PY) -m uv pip compile --quiet {options}\n" in MAKEFILE


def test_renovate__never_raises_a_package_of_the_ape_set_alone() -> None:
    rules = json.loads(text("renovate.json"))["packageRules"]
    names = [rule.get("groupName") for rule in rules]
    ape = rules[names.index("Ape")]

    assert names.index("Ape") > names.index("Python packages")  # a later rule wins
    assert {"eth-ape", "ape-foundry", "ape-solidity", "eth-account", "web3"} <= set(
        ape["matchPackageNames"]
    )
    assert ape["dependencyDashboardApproval"] is True
    assert ape["separateMajorMinor"] is False


@pytest.mark.parametrize(
    "page", ["SECURITY.md", ".github/pull_request_template.md", ".devcontainer/set-up.sh"]
)
def test_a_target_that_is_named__is_one_of_the_makefile(page: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE))

    assert (
        set(re.findall(r"(?:`|^)make ([a-z][a-z-]+)", text(page), re.MULTILINE)) - targets == set()
    )
