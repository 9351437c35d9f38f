"""Each operation is one type: mypy refuses a handler of another caller, and one that writes in a read."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

HEAD = """\
from api.areas.agents import schemas
from api.kernel.auth import BY_KEY
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NoInput, Read, ReadCall, Write, WriteCall


def shown() -> Answer[schemas.Fleet]:
    return Answer(schemas.Fleet(agents=[], agents_left=0))


def good(call: ReadCall, caller: AgentCaller, command: NoInput) -> Answer[schemas.Fleet]:
    return shown()


def of_another_caller(call: ReadCall, caller: OwnerCaller, command: NoInput) -> Answer[schemas.Fleet]:
    return shown()


def that_writes(call: WriteCall, caller: AgentCaller, command: NoInput) -> Answer[schemas.Fleet]:
    return shown()


"""
READ = 'Read(key="a.b", path="/a", auth=BY_KEY, summary="A.", handler={handler})\n'
WRITE = 'Write(key="a.c", path="/a", auth=BY_KEY, summary="A.", handler=that_writes)\n'
WRITING = (
    "add({row})",
    "add_all([{row}])",
    "merge({row})",
    "delete({row})",
    "commit()",
    "bulk_save_objects([{row}])",
)
WRITES = "".join(
    f"""
def writes_{n}(call: {{kind}}, row: object) -> None:
    call.db.{statement.format(row="row")}  # {{kind}}

"""
    for n, statement in enumerate(WRITING)
)
BAD = ("of_another_caller", "that_writes")


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The lines of a planted module that mypy refuses; one run for all of them, with the project's
    settings and cache.
    """
    file = tmp_path_factory.mktemp("planted") / "planted.py"
    planted = HEAD + "".join(READ.format(handler=name) for name in ("good", *BAD)) + WRITE
    planted += "".join(
        WRITES.format(kind=kind).replace("def writes", f"def {kind}")
        for kind in ("Call", "ReadCall", "WriteCall")
    )
    file.write_text(planted)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(file)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert all(Path(line.partition(":")[0]).name == file.name for line in errors), done.stdout
    return {planted.splitlines()[int(line.split(":")[1]) - 1] for line in errors}


@pytest.mark.parametrize("handler", BAD)
def test_a_read__whose_handler_does_not_fit_it__is_refused(refused: set[str], handler: str) -> None:
    assert READ.format(handler=handler).strip() in refused


@pytest.mark.parametrize("line", [READ.format(handler="good"), WRITE], ids=["read", "write"])
def test_an_operation__whose_parts_agree__is_taken(refused: set[str], line: str) -> None:
    assert line.strip() not in refused


@pytest.mark.parametrize("statement", WRITING)
@pytest.mark.parametrize("kind", ["Call", "ReadCall"])
def test_a_read_session__has_no_method_that_writes(
    refused: set[str], kind: str, statement: str
) -> None:
    assert f"    call.db.{statement.format(row='row')}  # {kind}" in refused


@pytest.mark.parametrize("statement", WRITING)
def test_a_write_session__has_them(refused: set[str], statement: str) -> None:
    assert f"    call.db.{statement.format(row='row')}  # WriteCall" not in refused
