"""What befalls a machine of the cluster, and how it is mended."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from tests.cluster.cluster import Cluster, ClusterNode

BLOCK_BYTES = 1 << 20
MOST_LOG_MB = 500


def signalled(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def crash_postgres(node: ClusterNode) -> None:
    top = node.postmaster
    assert top is not None
    os.kill(top, signal.SIGKILL)


@contextmanager
def lost(cluster: Cluster, node: ClusterNode) -> Iterator[None]:
    """The power of the machine goes, and comes back."""
    signalled(node.pids(), signal.SIGKILL)
    try:
        yield
    finally:
        cluster.tend()


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    signalled(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        signalled(pids, signal.SIGCONT)


@contextmanager
def cut_off(cluster: Cluster, node: ClusterNode) -> Iterator[None]:
    """No packet gets to the machine, and it reaches no other; it goes on by itself. A packet's
    sender is known by the group of its process. What it had open it may still write to: nobody
    can answer.
    """
    others = [one.address for one in cluster.nodes if one is not node] + [cluster.proxy]
    group = str(node.gid)
    rules = [
        ("-d", node.address, "-m", "owner", "!", "--gid-owner", group, "-j", "DROP"),
        *(("-d", one, "-m", "owner", "--gid-owner", group, "-j", "DROP") for one in others),
    ]
    for rule in rules:
        _iptables("-I", rule)
    try:
        yield
    finally:
        for rule in rules:
            _iptables("-D", rule)


def says_primary(node: ClusterNode) -> bool:
    """Whether a machine that is cut off would take writes, asked by a process of its own."""
    done = subprocess.run(
        ["curl", "--silent", "--max-time", "5", f"http://{node.address}:8008/patroni"],
        group=node.gid,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["role"] in ("master", "primary")


def _iptables(what: str, rule: tuple[str, ...]) -> None:
    subprocess.run(["iptables", "-w", what, "OUTPUT", *rule], check=True, capture_output=True)


@contextmanager
def full(cluster: Cluster, node: ClusterNode) -> Iterator[None]:
    """Its disk has not a byte left, for whoever writes there."""
    filler = node.folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (BLOCK_BYTES, 4_096, 1):
            with suppress(OSError):  # ENOSPC
                while file.write(bytes(size)) == size:
                    pass
    assert shutil.disk_usage(node.folder).free == 0
    try:
        yield
    finally:
        filler.unlink()
        cluster.tend()


def use_up_log(cluster: Cluster, node: ClusterNode) -> None:
    """Write until the files that the log had in reserve are used up: what hours of a service would
    do. Errors: AssertionError when the node still leads then.
    """
    for _ in range(MOST_LOG_MB):
        try:
            with cluster.admin() as connection:
                while True:
                    connection.execute(
                        "select pg_logical_emit_message(true, 'filler', repeat('x', 1000000))"
                    )
        except psycopg.Error:
            if node.role() != "primary":
                return
    raise AssertionError("a full disk does not end the lead")
