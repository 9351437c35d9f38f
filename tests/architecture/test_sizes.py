"""No file of code that people write is longer than can be read at once."""

from tests.architecture.test_laws import ROOT
from tests.architecture.test_names import GENERATED

MOST_LINES = 500
FOLDERS = ("api", "core", "indexer", "keeper", "scripts", "tests")


def test_a_python_file__has_at_most_500_lines() -> None:
    lines = {
        file.relative_to(ROOT).as_posix(): len(file.read_text().splitlines())
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        if file != GENERATED
    }
    long = {file: count for file, count in lines.items() if count > MOST_LINES}

    assert lines, "no file was looked at"
    assert long == {}, (
        f"give the second thing that each of these does a module of its own, named after it: {long}"
    )
