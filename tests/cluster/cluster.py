"""A database of three nodes on this machine: etcd, Patroni and Postgres of each, HAProxy and PgBouncer
in front, from Debian's packages and the files of docs/operations/cluster/. `make cluster` runs it until
Ctrl-C: empty each time, in CLUSTER_DIR (/var/tmp/mandate-cluster), at the addresses of CLUSTER_NETWORK
(127.28.0), and migrated; it prints the settings of the processes.

Each node has an address of its own in 127.0.0.0/8, with the ports of a real one. As root, all run
as the user postgres, since Postgres refuses root, and each node in a group of its own: by it a
packet says whose it is.

Laws
- What runs is what the templates say; nothing is set beside them.
- Every process is ended by its id, and the folder goes with the cluster.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

import httpx
import psycopg
from psycopg import sql

from core.db import migrate
from scripts._processes import ENDS_WITH_PARENT, ROOT, be_interrupted_by_signals

TEMPLATES = ROOT / "docs" / "operations" / "cluster"
POSTGRES = Path("/usr/lib/postgresql/15/bin")
ACCOUNT = "postgres"
NODES = (1, 2, 3)
FIRST_GROUP = 50_280
PORTS = {"postgres": 5432, "patroni": 8008, "etcd": 2379, "etcd peers": 2380}
PROXY_PORTS = {"primary": 5000, "replicas": 5001, "api": 8000, "pgbouncer": 6432}
START_S = 90.0
STOP_S = 30.0
LOOK_S = 0.2


class ClusterError(Exception):
    """The cluster cannot run; the message says what to do."""


def _found(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def _tool(name: str) -> str:
    if (found := _found(name)) is None:
        raise ClusterError(f"{name} is not installed")
    return found


@dataclass
class Daemon:
    """One process of the cluster; its output is a file."""

    command: list[str]
    log: Path
    uid: int | None  # None: this account's, and its group
    gid: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """None: it does not run."""
        running = self.process is not None and self.process.poll() is None
        return self.process.pid if running and self.process is not None else None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*ENDS_WITH_PARENT, *self.command],
                cwd=self.log.parent,
                env={"PATH": f"{os.defpath}:/usr/sbin", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self.uid,
                group=None if self.uid is None else self.gid,
                extra_groups=None if self.uid is None else (),
            )

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_S)

    def last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-8:])


@dataclass
class ClusterNode:
    """A machine: its address, its folder, its etcd and its Patroni, which runs the Postgres."""

    number: int
    address: str
    folder: Path
    gid: int
    etcd: Daemon
    patroni: Daemon

    @property
    def name(self) -> str:
        return f"node{self.number}"

    @property
    def postmaster(self) -> int | None:
        """The process id of its Postgres; None: it does not run."""
        try:
            pid = int((self.folder / "postgres" / "postmaster.pid").read_text().split("\n")[0])
            return pid if Path(f"/proc/{pid}/comm").read_text().startswith("postgres") else None
        except (OSError, ValueError):
            return None

    def of_postgres(self) -> list[int]:
        """The postmaster and its backends."""
        top = self.postmaster
        return [] if top is None else [top, *_children_of(top)]

    def pids(self) -> list[int]:
        """Everything that runs on this machine."""
        own = [pid for pid in (self.patroni.pid, self.etcd.pid) if pid is not None]
        return own + self.of_postgres()

    def role(self) -> str | None:
        """What its Patroni says that it is: primary, replica; None: no answer, or it does not
        run.
        """
        try:
            said = httpx.get(f"http://{self.address}:8008/patroni", timeout=1).json()
        except (httpx.HTTPError, ValueError):
            return None
        role = said.get("role") if said.get("state") == "running" else None
        return "primary" if role in ("master", "primary") else role

    def is_synchronous(self) -> bool:
        try:
            return httpx.get(f"http://{self.address}:8008/sync", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        """At once, in whatever state a test left it: its folder goes too."""
        self.patroni.kill()
        for pid in self.of_postgres():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        if (top := self.postmaster) is not None:
            os.kill(top, signal.SIGQUIT)
        _until(lambda: self.postmaster is None, STOP_S)
        self.etcd.kill()


def _run(*words: str | Path) -> None:
    """Errors: ClusterError."""
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ClusterError(f"{words[0]} failed: {done.stderr.strip()}")


def _children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(one) for one in text.split()]
    except (OSError, ValueError):
        return []


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    return True


def free_network() -> str:
    """Three numbers of a network in 127.0.0.0/8 whose ports nobody listens on."""
    while True:
        network = f"127.{secrets.randbelow(200) + 10}.{secrets.randbelow(250)}"
        if not _taken(network):
            return network


def _taken(network: str) -> str | None:
    places = [(f"{network}.{number}", port) for number in NODES for port in PORTS.values()]
    places += [(f"{network}.10", port) for port in PROXY_PORTS.values()]
    for address, port in places:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return f"{address}:{port}"
    return None


@dataclass
class Cluster:
    """`folder` is made, and removed by `stop`; `network` as of `free_network`. `disk_mb`: each node
    has a disk of its own of that size, in memory (root alone).
    """

    folder: Path
    network: str
    say: Callable[[str], None] = print
    disk_mb: int | None = None
    nodes: list[ClusterNode] = field(default_factory=list)
    proxies: dict[str, Daemon] = field(default_factory=dict)
    passwords: dict[str, str] = field(
        default_factory=lambda: {
            name: secrets.token_hex(16) for name in ("SUPERUSER", "REPLICATION", "REWIND", "APP")
        },
        repr=False,
    )

    @property
    def proxy(self) -> str:
        return f"{self.network}.10"

    @property
    def url(self) -> str:
        return self._url(PROXY_PORTS["primary"])

    @property
    def read_url(self) -> str:
        return self._url(PROXY_PORTS["replicas"])

    @property
    def pooled_url(self) -> str:
        return self._url(PROXY_PORTS["pgbouncer"])

    def url_of(self, node: ClusterNode) -> str:
        """One node's own, past the proxy."""
        return f"postgresql+psycopg://mandate:{self.passwords['APP']}@{node.address}:5432/mandate"

    def _url(self, port: int) -> str:
        return f"postgresql+psycopg://mandate:{self.passwords['APP']}@{self.proxy}:{port}/mandate"

    @property
    def api_url(self) -> str:
        return f"http://{self.proxy}:{PROXY_PORTS['api']}"

    def api_address(self, number: int) -> tuple[str, int]:
        """Where the proxy looks for an API process, 1 or 2."""
        return f"{self.network}.{10 + number}", PROXY_PORTS["api"]

    def start(self) -> None:
        """Errors: ClusterError."""
        if (taken := _taken(self.network)) is not None:
            raise ClusterError(f"{taken} is in use by another program: set CLUSTER_NETWORK")
        account = pwd.getpwnam(ACCOUNT) if os.geteuid() == 0 else None
        uid = None if account is None else account.pw_uid
        self._make_folder(uid)
        self.nodes = [self._node(number, uid) for number in NODES]
        for node in self.nodes:
            node.etcd.start()
        for node in self.nodes:
            node.patroni.start()
        self.wait_whole()
        self._start_proxies(uid)
        self._make_database()
        self.say(f"database   three nodes, {self._primary_name()} leads; {self.folder}")

    def stop(self) -> None:
        for daemon in self.proxies.values():
            daemon.kill()
        for node in self.nodes:
            node.patroni.kill()  # all first: none takes over from another
        for node in self.nodes:
            node.stop()
            if self.disk_mb is not None:
                _run("umount", node.folder)
        self.nodes, self.proxies = [], {}
        shutil.rmtree(self.folder, ignore_errors=True)

    def switch_over(self) -> ClusterNode:
        """On purpose, as an operator does it, to the one that has all. Errors: ClusterError."""
        self._wait("a synchronous standby", lambda: self.synchronous() is not None)
        to = self.synchronous()
        assert to is not None
        config = to.folder / "patroni.yml"
        words = ("switchover", "mandate", "--candidate", to.name, "--force")
        _run("patronictl", "-c", config, *words)
        return to

    def synchronous(self) -> ClusterNode | None:
        """The one that acknowledges commits."""
        return next((node for node in self.nodes if node.is_synchronous()), None)

    def primary(self) -> ClusterNode | None:
        return next((node for node in self.nodes if node.role() == "primary"), None)

    def wait_whole(self) -> None:
        """Until one leads and two follow, one of them written down as synchronous: before that, a
        primary that is lost has no successor. Errors: ClusterError.
        """
        self._wait("a primary and two replicas, one of them synchronous", self._is_whole)

    def tend(self) -> None:
        """Start again what died, as systemd does."""
        daemons = {f"{node.name} etcd": node.etcd for node in self.nodes}
        daemons |= {f"{node.name} patroni": node.patroni for node in self.nodes} | self.proxies
        for name, daemon in daemons.items():
            if daemon.pid is None:
                self.say(f"{name} ended; starting it again")
                daemon.start()

    def _primary_name(self) -> str:
        found = self.primary()
        return "nobody" if found is None else found.name

    def _is_whole(self) -> bool:
        roles = [node.role() for node in self.nodes]
        is_manned = sorted(str(role) for role in roles) == ["primary", "replica", "replica"]
        return is_manned and self.synchronous() is not None

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        if not _until(condition, START_S):
            words = "\n".join(
                f"{one.log.name}: {one.last_words()}"
                for node in self.nodes
                for one in (node.etcd, node.patroni)
            )
            raise ClusterError(f"no {what} within {START_S:.0f} s; last words:\n{words}")

    def _make_folder(self, uid: int | None) -> None:
        if self.folder.exists():
            raise ClusterError(
                f"{self.folder} exists: another cluster runs from it, or one was killed; look, "
                "remove it, or set CLUSTER_DIR"
            )
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o755)
        if uid is None:
            return
        for above in self.folder.parents:
            if not above.stat().st_mode & 0o001:
                self.folder.rmdir()
                raise ClusterError(
                    f"{above} can't be passed by the user {ACCOUNT}, who runs Postgres: set "
                    "CLUSTER_DIR to a folder that can, such as /var/tmp/mandate-cluster"
                )

    def _node(self, number: int, uid: int | None) -> ClusterNode:
        address, folder = f"{self.network}.{number}", self.folder / f"node{number}"
        gid = FIRST_GROUP + number
        folder.mkdir(mode=0o700)
        if self.disk_mb is not None:
            _run("mount", "-t", "tmpfs", "-o", f"size={self.disk_mb}m,mode=700", "tmpfs", folder)
        values = {"NODE": f"node{number}", "ADDRESS": address, "DATA": str(folder)}
        files = {name: self._rendered(name, folder, values) for name in ("etcd.yml", "patroni.yml")}
        _give(folder, uid, gid)
        etcd = [_tool("etcd"), "--config-file", str(files["etcd.yml"])]
        patroni = [_tool("patroni"), str(files["patroni.yml"])]
        return ClusterNode(
            number,
            address,
            folder,
            gid,
            Daemon(etcd, folder / "etcd.log", uid, gid),
            Daemon(patroni, folder / "patroni.log", uid, gid),
        )

    def _start_proxies(self, uid: int | None) -> None:
        folder, gid = self.folder / "proxy", FIRST_GROUP
        folder.mkdir(mode=0o700)
        (folder / "userlist.txt").write_text(f'"mandate" "{self.passwords["APP"]}"\n')
        values = {"DATA": str(folder)}
        haproxy = self._rendered("haproxy.cfg", folder, values)
        pgbouncer = self._rendered("pgbouncer.ini", folder, values)
        _give(folder, uid, gid)
        commands = {
            "haproxy": [_tool("haproxy"), "-db", "-f", str(haproxy)],
            "pgbouncer": [_tool("pgbouncer"), str(pgbouncer)],
        }
        for name, command in commands.items():
            self.proxies[name] = Daemon(command, folder / f"{name}.log", uid, gid)
            self.proxies[name].start()

    def _rendered(self, name: str, folder: Path, values: Mapping[str, str]) -> Path:
        api = {f"API_{number}": "{}:{}".format(*self.api_address(number)) for number in (1, 2)}
        known = {
            **{f"ADDRESS_{number}": f"{self.network}.{number}" for number in NODES},
            **{f"{name}_PASSWORD": word for name, word in self.passwords.items()},
            **api,
            "PROXY": self.proxy,
            "PROXY_UID": str(pwd.getpwnam(ACCOUNT).pw_uid if os.geteuid() == 0 else os.getuid()),
            "PROXY_GID": str(FIRST_GROUP if os.geteuid() == 0 else os.getgid()),
            "NETWORK": "127.0.0.0/8",
            "BIN": str(POSTGRES),
            "WAL_KEPT": "10GB" if self.disk_mb is None else f"{self.disk_mb // 4}MB",
            "WAL_SIZE": "1GB" if self.disk_mb is None else f"{self.disk_mb // 4}MB",
            **values,
        }
        path = folder / name
        path.write_text(Template((TEMPLATES / name).read_text()).substitute(known))
        path.chmod(0o600)
        return path

    def admin(self) -> psycopg.Connection[tuple[object, ...]]:
        """The superuser's connection to the primary."""
        return psycopg.connect(
            host=self.proxy,
            port=PROXY_PORTS["primary"],
            user="postgres",
            password=self.passwords["SUPERUSER"],
            dbname="postgres",
            connect_timeout=3,
            autocommit=True,
        )

    def _make_database(self) -> None:
        def is_made() -> bool:
            try:
                with self.admin() as connection:
                    word = sql.Literal(self.passwords["APP"])
                    connection.execute(
                        sql.SQL("create role mandate login password {}").format(word)
                    )
                    connection.execute("create database mandate owner mandate")
                return True
            except psycopg.OperationalError:
                return False

        self._wait("way to the primary through HAProxy", is_made)


def _give(folder: Path, uid: int | None, gid: int) -> None:
    if uid is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, gid)


def main() -> None:
    be_interrupted_by_signals()
    cluster = Cluster(
        Path(os.environ.get("CLUSTER_DIR") or "/var/tmp/mandate-cluster"),
        os.environ.get("CLUSTER_NETWORK") or "127.28.0",
        say=lambda line: print(line, flush=True),
    )
    try:
        cluster.start()
        migrate.upgrade(cluster.url)
        print(f"DATABASE_URL={cluster.url}")
        print(f"DATABASE_POOLED_URL={cluster.pooled_url}   # the API alone")
        print(f"DATABASE_READ_URL={cluster.read_url}   # the API alone")
        print("running until Ctrl-C", flush=True)
        while True:
            time.sleep(1)
            cluster.tend()
    except KeyboardInterrupt:
        print("stopped")
    except ClusterError as error:
        sys.exit(f"make cluster: {error}")
    finally:
        if cluster.nodes:
            cluster.stop()


if __name__ == "__main__":
    main()
