"""Each event is one line, whoever logs it."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.logs import LinesOrNothing

ROOT = Path(__file__).parents[3]
EVENTS = """
import logging, structlog
from core.logs import configure_logs
configure_logs({format!r})
structlog.get_logger("keeper").info("tick", vaults=2)
try:
    raise ValueError("no node answered")
except ValueError:
    logging.getLogger("apscheduler").exception("Job %s raised", "funds")
logging.getLogger("httpx").info("not of interest")
"""


GOES_ON = "\nfrom pathlib import Path; Path({done!r}).touch(); import os; os._exit(0)"


def lines(log_format: str) -> list[str]:
    command = [sys.executable, "-c", EVENTS.format(format=log_format)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True
    ).stdout.splitlines()


def test_json__a_librarys_traceback__is_one_line_with_its_logger() -> None:
    own, of_library = map(json.loads, lines("json"))

    assert (own["event"], own["vaults"], own["level"]) == ("tick", 2, "info")
    assert (of_library["event"], of_library["logger"], of_library["level"]) == (
        "Job funds raised",
        "apscheduler",
        "error",
    )
    assert of_library["exception"].endswith("ValueError: no node answered")
    assert of_library["timestamp"][:2] == "20"


def test_console__a_librarys_traceback__is_plain_and_shows_no_local_values() -> None:
    told = lines("console")

    assert "tick" in told[0] and "vaults=2" in told[0]
    assert told[-1] == "ValueError: no node answered"
    assert any(line.startswith("Traceback") for line in told)


@pytest.mark.parametrize(("log_format", "is_closed"), [("json", False), ("console", True)])
def test_a_log_that_cannot_be_written__ends_nothing(
    tmp_path: Path, log_format: str, is_closed: bool
) -> None:
    done = tmp_path / "done"
    script = EVENTS.format(format=log_format) + GOES_ON.format(done=str(done))
    read, write = os.pipe()
    os.close(read)
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            stdout=write if is_closed else full,
            stderr=subprocess.PIPE,
            timeout=30,
            check=False,
        )
    os.close(write)
    assert (ended.returncode, ended.stderr, done.exists()) == (0, b"", True)


@pytest.mark.parametrize(
    ("log_format", "encoding", "said"),
    [
        ("json", "ascii", "\uc6dc\ud640"),
        ("json", "utf-8", "\ud83d"),
        ("console", "latin-1", "\u2026"),
    ],
)
def test_letters_that_the_stream_lacks__are_escaped(
    log_format: str, encoding: str, said: str
) -> None:
    script = (
        "import logging, structlog\nfrom core.logs import configure_logs\n"
        f"configure_logs({log_format!r})\n"
        f"structlog.get_logger('x').info('named', name={said!a})\n"
        f"logging.getLogger('library').error({said!a})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode("ascii").splitlines()
    assert len(lines) == 2 and all(ascii(said).strip("'") in line for line in lines)


def test_a_stream_that_is_closed__ends_nothing() -> None:
    stream = io.StringIO()
    stream.close()
    LinesOrNothing(stream).write("a line")
    LinesOrNothing(stream).flush()


ODD = """
import io, logging, structlog, sys
from core.logs import configure_logs
class Odd:
    def __repr__(self): raise RuntimeError("no text")
class OddError(Exception):
    def __str__(self): raise RuntimeError("no text")
deep = {{}}
inner = deep
for _ in range(3_000):
    inner["a"] = inner = {{}}
ring = []
ring.append(ring)
configure_logs({log_format!r})
for odd in (Odd(), 10**5_000, ring, {{(1, 2): 3}}, deep, {{Odd(): 1}}, bytes([255]), float("nan")):
    structlog.get_logger("keeper").info("said", odd=odd)
structlog.get_logger("keeper").info(Odd())
try:
    raise OddError
except OddError:
    structlog.get_logger("keeper").exception("failed")
    logging.getLogger("library").exception("failed %d", "a")
logging.getLogger("library").error("%s", Odd())
print("goes on")
"""


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_line_that_cannot_be_made__ends_nothing_and_says_so(log_format: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ODD.format(log_format=log_format)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["goes on"]), done.stderr
    said = [line for line in done.stdout.splitlines() if "no line could be made" in line]
    assert any("RuntimeError" in line and "error" in line for line in said)
    assert done.stdout.count("said") >= 8


def test_console__what_others_wrote_moves_no_cursor_and_turns_no_text() -> None:
    script = (
        "import logging, structlog\nfrom core.logs import configure_logs\n"
        "configure_logs('console')\n"
        "hostile = 'a\\x1b[2J\\u202eb\\x9bc'\n"
        "try:\n    raise ValueError(hostile)\n"
        "except ValueError:\n    structlog.get_logger('x').exception('failed')\n"
        "logging.getLogger('library').error(hostile)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, timeout=30, check=True
    )
    told = done.stdout.decode()
    assert told.count("a\\x1b[2J\\u202eb\\x9bc") == 2
    assert not {"\x1b", "\u202e", "\x9b"} & set(told)
