"""What befalls a machine of the cluster, and how it is mended."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from scripts._cluster import Cluster, ClusterNode

BLOCK_BYTES = 1 << 20


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
    yield
    cluster.tend()


@contextmanager
def paused(pids: list[int]) -> Iterator[None]:
    signalled(pids, signal.SIGSTOP)
    yield
    signalled(pids, signal.SIGCONT)


@contextmanager
def cut_off(node: ClusterNode) -> Iterator[None]:
    """No packet gets to the machine or from it; it goes on by itself. A packet's sender is known by
    the group of its process.
    """
    of_node = ("-m", "owner", "--gid-owner", str(node.gid))
    others = ("-m", "owner", "!", "--gid-owner", str(node.gid))
    rules = (
        ("!", "-d", node.address, *of_node, "-j", "DROP"),
        ("-d", node.address, *others, "-j", "DROP"),
    )
    for rule in rules:
        _iptables("-I", rule)
    try:
        yield
    finally:
        for rule in rules:
            _iptables("-D", rule)


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
    yield
    filler.unlink()
    cluster.tend()
