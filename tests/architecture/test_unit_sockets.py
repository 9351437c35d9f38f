"""A unit test that opens a network socket fails, whatever it wants with it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEST = """
import asyncio
import socket


def test_opens() -> None:
    {body}
"""


def outcome(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """A unit test of this body, run under the conftest of tests/unit."""
    shutil.copy(ROOT / "tests" / "unit" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_planted.py").write_text(TEST.format(body=body))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:ape_test",
        "-p",
        "no:schemathesis",
        "-p",
        "no:cacheprovider",
        ".",
    ]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(
    "body",
    [
        "socket.create_connection(('127.0.0.1', 1), timeout=1)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
        "socket.getaddrinfo('localhost', 80)",
    ],
    ids=["connection", "datagram", "name"],
)
def test_a_unit_test_that_opens_a_socket__fails(tmp_path: Path, body: str) -> None:
    done = outcome(tmp_path, body)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "SocketBlockedError" in done.stdout


def test_a_unit_test_that_runs_an_event_loop__passes(tmp_path: Path) -> None:
    done = outcome(tmp_path, "asyncio.run(asyncio.sleep(0))")
    assert done.returncode == 0, done.stdout + done.stderr
