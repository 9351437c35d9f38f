"""One database of three nodes and one service on it, for all of these tests: each is a fault more that
it has outlived.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, free_network
from tests.cluster.service import Service, served
from tests.integration.nursery import nursery

DISK_MB = 1_024


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    nursery()  # it imports while the nodes come up
    parent = Path(tempfile.mkdtemp(prefix="cluster-", dir="/var/tmp"))
    parent.chmod(0o755)
    made = Cluster(parent / "c", free_network(), disk_mb=DISK_MB)
    try:
        made.start()
        yield made
    finally:
        logs = tmp_path_factory.mktemp("nodes")
        for log in made.folder.glob("*/*.log"):
            shutil.copy(log, logs / f"{log.parent.name}-{log.name}")
        made.stop()
        shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture(scope="session")
def service(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(cluster, tmp_path_factory.mktemp("service")) as running:
        yield running
