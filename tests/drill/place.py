"""Servers of a system's Postgres in folders of their own, and pgBackRest beside them, for the drill.

    folder/<name>       PGDATA                         folder/repository   backups, and the archive of the log
    folder/socket       all servers' sockets, 0700     folder/*.conf       those of docs/operations/backup, with paths of here

The configuration is the one that operators copy (docs/operations/backup); paths, port and the
passphrase alone are the drill's.
"""

import os
import pwd
import secrets
import shutil
import subprocess
import time
from collections.abc import Sequence
from configparser import ConfigParser
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from core.errors import OutsideError
from scripts._processes import ROOT

CONFIGURATION = ROOT / "docs" / "operations" / "backup"
STANZA = "mandate"
ROLE = DATABASE = "mandate"
ACCOUNT = "postgres"  # of Debian's package; Postgres does not run as root
VERIFY = "verify.sh"
WITHIN_S = 300


class BackupFailedError(OutsideError):
    """A program of Postgres or pgBackRest ended with an error; the message is its own."""


def binaries() -> Path:
    """Of the newest Postgres that Debian's packages installed. Errors: BackupFailedError."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda one: int(one.parts[-3])
    )
    if not found or shutil.which("pgbackrest") is None:
        raise BackupFailedError(
            "Postgres or pgBackRest is missing: apt-get install postgresql pgbackrest"
        )
    return found[-1].parent


def as_account() -> dict[str, Any]:
    """Whom the programs run as: this process's own account, or, of root, that of Postgres."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(ACCOUNT)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": ()}


@dataclass(frozen=True, slots=True)
class DrillPlace:
    """The drill's folder. `passphrase`: of the backups; `repository`: the folder's that has them."""

    folder: Path
    passphrase: str = field(default_factory=lambda: secrets.token_hex(32), repr=False)
    repository_name: str = "repository"

    def make(self) -> None:
        for name in ("", "repository", "log", "lock", "spool", "socket"):
            made = self.folder / name
            made.mkdir(parents=True, mode=0o755)
            self.give(made)
        (self.folder / "socket").chmod(0o700)

    def give(self, path: Path) -> None:
        """To the account that the servers run as."""
        if owner := as_account():
            os.chown(path, owner["user"], owner["group"])

    @property
    def repository(self) -> Path:
        return self.folder / self.repository_name

    def copied(self, name: str) -> "DrillPlace":
        """The same with a copy of the repository in place of it."""
        shutil.copytree(self.repository, self.folder / name, dirs_exist_ok=True)
        for path in (self.folder / name, *(self.folder / name).rglob("*")):
            self.give(path)
        return replace(self, repository_name=name)

    def run(self, *command: str, quietly: bool = False) -> "subprocess.CompletedProcess[str]":
        """Errors: BackupFailedError with what the program said."""
        # a server keeps its starter's pipe open: its start would never end
        stream = subprocess.DEVNULL if quietly else subprocess.PIPE
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={
                "PATH": os.defpath,
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
                "PGBACKREST_CONFIG": str(self.folder / "pgbackrest.conf"),
                "PGBACKREST_REPO1_CIPHER_PASS": self.passphrase,
                "PGBACKREST_REPO1_PATH": str(self.repository),
            },
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            text=True,
            check=False,
            timeout=WITHIN_S,
            **as_account(),
        )
        if done.returncode != 0:
            said = " / ".join(((done.stderr or "") + (done.stdout or "")).split("\n"))
            raise BackupFailedError(f"{Path(command[0]).name}: {said.strip(' /')[-600:]}")
        return done

    def pgbackrest(self, command: str, *options: str) -> str:
        return self.run("pgbackrest", f"--stanza={STANZA}", *options, command).stdout

    def verify(self) -> None:
        """Read all that is kept, as operators do (docs/operations/backup/verify.sh).

        Errors: BackupFailedError naming what is not as it was written.
        """
        self.run("sh", str(self.folder / VERIFY))

    def configure(self, data: Path, port: int) -> None:
        """Write docs/operations/backup/pgbackrest.conf with the paths of here."""
        parser = ConfigParser()
        parser.read(CONFIGURATION / "pgbackrest.conf")
        here = {
            "repo1-path": self.repository,
            "log-path": self.folder / "log",
            "lock-path": self.folder / "lock",
            "spool-path": self.folder / "spool",
            # what is wrong once is wrong: the drill does not wait and try again
            "job-retry": 0,
        }
        server = {
            "pg1-path": data,
            "pg1-port": port,
            "pg1-user": ROLE,
            "pg1-database": "postgres",
            "pg1-socket-path": self.folder / "socket",
        }
        for section, values in (("global", here), (STANZA, server)):
            parser[section].update({name: str(value) for name, value in values.items()})
        path = self.folder / "pgbackrest.conf"
        with path.open("w") as file:
            parser.write(file)
        shutil.copy(CONFIGURATION / VERIFY, self.folder / VERIFY)
        for made in (path, self.folder / VERIFY):
            self.give(made)


@dataclass(frozen=True, slots=True)
class DrillServer:
    """A cluster in `place`, on a port of its own."""

    place: DrillPlace
    name: str
    port: int

    @property
    def data(self) -> Path:
        return self.place.folder / self.name

    @property
    def url(self) -> str:
        socket = quote(str(self.place.folder / "socket"))
        return f"postgresql+psycopg://{ROLE}@/{DATABASE}?host={socket}&port={self.port}"

    def make(self) -> None:
        """An empty cluster with the settings of docs/operations/backup/postgresql.conf."""
        options = ("--encoding=UTF8", "--locale=C", "--auth-local=trust", "--auth-host=reject")
        self.place.run(
            str(binaries() / "initdb"),
            *("-D", str(self.data), "-U", ROLE, "--data-checksums", "--no-sync", *options),
        )
        shutil.copy(CONFIGURATION / "postgresql.conf", self.data / "archive.conf")
        self.place.give(self.data / "archive.conf")
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("include 'archive.conf'\n")

    def start(self, **settings: str) -> None:
        """Errors: BackupFailedError with the end of the server's own log."""
        options = {
            "port": str(self.port),
            "listen_addresses": "",
            "unix_socket_directories": str(self.place.folder / "socket"),
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "max_connections": "200",
            **settings,
        }
        shown = " ".join(f"-c {name}='{value}'" for name, value in options.items())
        try:
            self._pg_ctl("start", "-w", "-t", str(WITHIN_S // 2), "-l", str(self.log), "-o", shown)
        except BackupFailedError:
            raise BackupFailedError(
                f"the server {self.name} does not start: {self.last_words()}"
            ) from None

    def stop(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self._pg_ctl("stop", "-m", "fast", "-w")

    @property
    def log(self) -> Path:
        return self.place.folder / f"{self.name}.log"

    def last_words(self) -> str:
        """What its log ends with, but for notices."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        told = [line for line in lines if "FATAL" in line or "ERROR" in line]
        return " / ".join((told or lines)[-3:]) or "it wrote no log"

    def restore(self, *target: str) -> None:
        """The newest backup that fits and as much of the log as `target` says, into this cluster."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        self.place.give(self.data)
        self.place.pgbackrest("restore", f"--pg1-path={self.data}", *target)

    def until_promoted(self, within_s: float = 120) -> None:
        """Errors: BackupFailedError when it does not come to the end of what it recovers."""
        ends = time.monotonic() + within_s
        while self.ask("select pg_is_in_recovery()") is True:
            if time.monotonic() > ends:
                raise BackupFailedError(f"{self.name} recovers for {within_s:.0f} s and more")
            time.sleep(0.1)

    def next_second(self) -> None:
        """pgBackRest tells times of backups by the second: a moment in the one in which a backup ended
        is before it.
        """
        self.ask("select pg_sleep(1.1)")

    def ask(self, query: str, database: str = "postgres") -> Any:
        """The first column of the first row; None without one."""
        with psycopg.connect(
            host=str(self.place.folder / "socket"),
            port=self.port,
            user=ROLE,
            dbname=database,
            autocommit=True,
        ) as connection:
            cursor = connection.execute(query.encode())
            found: Sequence[Any] | None = cursor.fetchone() if cursor.description else None
            return None if found is None else found[0]

    def _pg_ctl(self, *arguments: str) -> None:
        self.place.run(str(binaries() / "pg_ctl"), *arguments, "-D", str(self.data), quietly=True)
