"""How the indexer follows the chain on a plan of 25 calls a second: rows of `make bench-indexer`.

    catch-up   46 blocks behind, a block each 2 s, one URL whose backends are 0 to 3 blocks apart: seconds until the record is
               within LATE_BLOCKS of the head
    afterwards the most blocks that the record is behind within STAYS_S

With `BEFORE=<a checkout of an older commit>` its indexer runs first, on a chain of its own, and its figures have the suffix
`_before`; -1: it did not catch up within WITHIN_S.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import Final
from urllib.parse import urlsplit

import psycopg

from core.db import embedded
from tests.integration.chain_fixtures import ROOT, deploy_contracts, start_anvil
from tests.integration.chaos.server import Server
from tests.integration.rented import Pick, Plan, Refuses, Rented

BEHIND: Final = 46
BLOCK_S: Final = 2
CALLS_PER_S: Final = 25
LATE_BLOCKS: Final = 3
WITHIN_S: Final = 60.0
STAYS_S: Final = 40.0
CURSOR: Final = "select number from chain_cursor where name = 'tip'"


def followed(code: Path) -> tuple[float, int]:
    """(seconds to catch up, most blocks behind afterwards) of that checkout's indexer."""
    folder = Path(mkdtemp(prefix="bench-"))
    folder.chmod(0o755)
    chain = deploy_contracts(start_anvil())
    chain.write_record(folder)
    database = embedded.start(folder / "postgres")
    port = urlsplit(chain.anvil.url).port or 0
    plan = Plan(CALLS_PER_S, Refuses.WHOLE)
    node = Server(Rented(port, plan=plan, backends=(0, 1, 2, 3), pick=Pick.RANDOM))
    settings = os.environ | {
        "DATABASE_URL": database.url,
        "RPC_URLS": node.url,
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "LOG_FORMAT": "json",
        "PYTHONPATH": str(code),
    }
    subprocess.run(
        [sys.executable, "-m", "core.db.migrate", "upgrade"], cwd=code, env=settings, check=True
    )
    chain.anvil.mine(BEHIND)
    chain.rpc.call("evm_setIntervalMining", [BLOCK_S])
    with (folder / "indexer.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "indexer.main"], cwd=code, env=settings, stdout=log, stderr=log
        )
    try:
        with psycopg.connect(database.url.replace("+psycopg", ""), autocommit=True) as connection:

            def behind() -> int:
                found = connection.execute(CURSOR).fetchone()
                return chain.reader.block_number() - (0 if found is None else int(found[0]))

            begun = time.monotonic()
            while behind() > LATE_BLOCKS:
                if time.monotonic() - begun > WITHIN_S:
                    return -1, behind()
                time.sleep(0.1)
            caught_up, most = time.monotonic() - begun, 0
            until = time.monotonic() + STAYS_S
            while time.monotonic() < until:
                most = max(most, behind())
                time.sleep(0.1)
            return caught_up, most
    finally:
        process.kill()
        process.wait()
        node.stop()
        database.stop()
        chain.anvil.stop()
        shutil.rmtree(folder, ignore_errors=True)


def rows() -> dict[str, float]:
    """The figures, and those of the code at BEFORE."""
    before, found = os.environ.get("BEFORE"), dict[str, float]()
    runs = [(ROOT, "")] if before is None else [(Path(before), "_before"), (ROOT, "")]
    for code, suffix in runs:
        caught_up, most = followed(code)
        found[f"catch_up_plan_25_s{suffix}"] = round(caught_up, 1)
        found[f"behind_plan_25_blocks{suffix}"] = most
        print(f"plan of {CALLS_PER_S}{suffix}: {caught_up:.1f} s, then {most} behind", flush=True)
    return found


if __name__ == "__main__":
    print(json.dumps(rows()))
