"""HAProxy with the file that the product ships, before processes of the API."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from scripts._ports import free_port
from scripts._processes import ENDS_WITH_PARENT, ROOT

FILE = ROOT / "docs" / "operations" / "haproxy.cfg"
HAPROXY = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
UP_S = 120  # whatever else the machine does


@contextmanager
def behind_proxy(*processes: str, file: Path = FILE) -> Iterator[int]:
    """The port of a proxy before these processes (`127.0.0.1:8000`), one or two."""
    port = free_port()
    environment = {
        "LISTEN": f"127.0.0.1:{port}",
        **{f"API_{number}": one for number, one in enumerate((*processes, "127.0.0.1:1")[:2], 1)},
    }
    with running(environment, file):
        await_up(lambda: socket.create_connection(("127.0.0.1", port), 5))
        yield port


@contextmanager
def running(environment: Mapping[str, str], file: Path = FILE) -> Iterator[None]:
    assert HAPROXY is not None, "HAProxy is missing; on Debian: apt-get install haproxy"
    command = [*ENDS_WITH_PARENT, HAPROXY, "-db", "-f", str(file)]
    process = subprocess.Popen(command, env={"PATH": os.environ["PATH"], **environment})
    try:
        yield
    finally:
        process.terminate()
        process.wait(UP_S)


def await_up(connect: Callable[[], socket.socket]) -> None:
    """Until a process is found: the proxy's own answer while it knows none that lives is 503."""
    until = time.monotonic() + UP_S
    while not _is_up(connect):
        assert time.monotonic() < until, "the proxy finds no process"
        time.sleep(0.05)


def _is_up(connect: Callable[[], socket.socket]) -> bool:
    try:
        with connect() as wire:
            wire.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return wire.recv(12).endswith(b" 200")
    except OSError:
        return False
