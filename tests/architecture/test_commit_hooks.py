"""Commit hooks run the tools that the repository pins; the message hook asks for a reason."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.commit_message import SUBJECT_CHARACTERS, faults

ROOT = Path(__file__).resolve().parents[2]
REPOS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())[
    "repos"
]
HOOKS = [hook for repo in REPOS for hook in repo["hooks"]]
BODY = "\n\nIt ended in a traceback."


def test_a_hook__runs_a_tool_that_the_repository_pins_or_holds() -> None:
    packages = (ROOT / "requirements.lock").read_text()
    node_packages = (ROOT / "package.json").read_text()
    known = {
        ".venv/bin/ruff": "\nruff==" in packages,
        "node_modules/.bin/forge-native": '"@foundry-rs/forge"' in node_packages,
        "node_modules/.bin/biome": '"@biomejs/biome"' in node_packages,
        "scripts/commit_message.py": (ROOT / "scripts/commit_message.py").stat().st_mode & 0o111,
    }
    tools = {shlex.split(hook["entry"])[0] for hook in HOOKS}

    assert tools == known.keys()
    assert all(known.values()), known


def test_a_hook__has_no_versions_of_its_own() -> None:
    assert [repo["repo"] for repo in REPOS] == ["local"]
    assert {hook["language"] for hook in HOOKS} == {"system"}


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("", "The message is empty."),
        ("\n# only what git wrote\n", "The message is empty."),
        (
            "S" * (SUBJECT_CHARACTERS + 1) + BODY,
            "The subject has 73 characters; at most 72 are allowed.",
        ),
        ("Refuse it", "There is no body; say why the change is made."),
        ("Refuse it\n\nSigned-off-by: A <a@b.c>", "There is no body; say why the change is made."),
        (
            "Refuse it\n\n# Changes to be committed:",
            "There is no body; say why the change is made.",
        ),
        (
            "Refuse it\nIt ended in a traceback.",
            "The second line is not empty; git takes it as part of the subject.",
        ),
    ],
)
def test_a_commit_message__is_refused_in_a_sentence(message: str, fault: str) -> None:
    assert faults(message) == [fault]


def test_the_hook__exits_with_1_and_says_why(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("Refuse it\n")
    done = subprocess.run(
        [ROOT / "scripts" / "commit_message.py", message],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (1, "There is no body; say why the change is made.\n")
