"""A database of three nodes on this machine until Ctrl-C: `make cluster`.

It begins empty each time, in CLUSTER_DIR (/var/tmp/mandate-cluster), at the addresses of
CLUSTER_NETWORK (127.28.0), and is migrated. It prints the settings of the processes.
"""

import os
import sys
import time
from pathlib import Path

from core.db import migrate
from scripts._cluster import Cluster, ClusterError
from scripts._processes import be_interrupted_by_signals


def main() -> None:
    be_interrupted_by_signals()
    cluster = Cluster(
        Path(os.environ.get("CLUSTER_DIR") or "/var/tmp/mandate-cluster"),  # noqa: S108 (postgres must pass)
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
