"""The modules of the check in the browser: their own tests in Node, their sizes, and that nothing
in them is Node's or another host's.
"""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
MODULES = ROOT / "api" / "web" / "verify"
TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))
MOST_LINES = 500  # as of a Python file
GENERATED = "tables.js"
WITHIN_S = 180
OF_NODE = re.compile(r"\b(process|Buffer|require\(|__dirname|globalThis|global)\b|from \"node:")
WAYS_OUT = re.compile(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|import\()")


def _run(*command: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4_000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.name)
def test_the_modules_own_tests__pass(file: Path) -> None:
    assert re.search(r"^# pass [1-9]", _run("node", "--test", str(file)), re.MULTILINE)


def test_a_module__has_at_most_500_lines() -> None:
    lines = {
        file.name: len(file.read_text().splitlines())
        for file in MODULES.glob("*.js")
        if file.name != GENERATED
    }
    assert len(lines) > 20
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_a_module__needs_nothing_of_node_and_asks_nobody_but_the_wallet() -> None:
    found = {
        file.name: [*OF_NODE.findall(text), *WAYS_OUT.findall(text)]
        for file in MODULES.glob("*.js")
        if file.name != GENERATED
        for text in [_code(file)]
    }
    assert {name: words for name, words in found.items() if any(words)} == {}


def _code(file: Path) -> str:
    """Without comments."""
    text = re.sub(r"/\*.*?\*/", "", file.read_text(), flags=re.DOTALL)
    return re.sub(r"(?m)(^|\s)//.*$", "", text)
