"""How fast a record is checked: `make bench-verify`. 100,000 rows with real receipts, on an anvil
of the bench's own.

One vault, its agent's batches of 100 buys, the real indexer into a real database, the export that
the API serves, and then the command as a stranger runs it, in a process of its own. The last line is
one JSON object.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import structlog

from api.areas.mandates.views import record as mandate_record
from core.db.leadership import Leadership
from core.mandate.chain.calldata import VaultCall, execute_batch
from core.mandate.queries import find_mandate
from core.mandate.venues import test_venue
from tests.bench.place import a_database, url_of
from tests.bench.workload import FINAL_AFTER, send
from tests.integration.chain_fixtures import ROOT, USDC, deploy_contracts, start_anvil
from tests.integration.indexer.conftest import Follower, Issued
from tests.personas import AGENT

ROWS = 100_000
BATCH = 100  # actions in one transaction
SPENT = 1_000  # base units an action
WITHIN_S = 600
MOST_S, MOST_MB = 20, 300  # what 100,000 rows may cost
# the command, which tells its own peak at its end: ru_maxrss of a child begins with its parent's
MEASURED = """
import sys
from api.client.verify.main import app
try:
    app()
finally:
    print(open("/proc/self/status").read(), file=sys.stderr)
"""
FRAME = 3  # rows beside the actions: signed, created, funded


@contextmanager
def following() -> Iterator[Follower]:
    with a_database() as database:
        anvil, leadership = start_anvil(), Leadership(url_of(database), "indexer", "bench")
        leadership.try_take(datetime.now(UTC))
        try:
            yield Follower(deploy_contracts(anvil), database, leadership)
        finally:
            leadership.release()
            anvil.stop()


def work(follower: Follower, rows: int) -> Issued:
    """A vault and its agent's actions, in blocks that are final at the end; the indexer has seen
    them all.
    """
    chain = follower.deployed
    cap = 1_000 * USDC
    mandate = follower.issue(per_tx_cap=cap, daily_cap=cap)
    vault = chain.create_vault(mandate.terms)
    call, left = (
        VaultCall(chain.contracts["test_venue_adapter"], SPENT, test_venue.buy(SPENT)),
        rows - FRAME,
    )
    while left > 0:
        count = min(BATCH, left)
        send(chain, AGENT.address, vault, execute_batch([call] * count))
        left -= count
    chain.anvil.mine(FINAL_AFTER + 1)
    while follower.tip.cursor.hash != follower.head_hash:
        follower.tip.round()
    follower.tip.close()
    return mandate


def export(follower: Follower, mandate: Issued, path: Path) -> float:
    """Seconds."""
    began = time.monotonic()
    with follower.database.read() as session:
        found = find_mandate(session, mandate.public_id)
        assert found is not None
        opening = mandate_record.opening(session, found, follower.deployed.contracts["factory"])
    with path.open("w") as file:
        file.writelines(mandate_record.chunks(follower.database, opening))
    return time.monotonic() - began


def checked(path: Path, url: str, factory: str) -> dict[str, Any]:
    """What the command says of the record, and its peak memory."""
    command = [sys.executable, "-c", MEASURED, str(path), "--rpc", url]
    command += ["--factory", factory, "--json"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[:2_000] + done.stderr[-2_000:]
    told: dict[str, Any] = json.loads(done.stdout)
    peak_kb = int(re.findall(r"VmHWM:\s+(\d+) kB", done.stderr)[-1])
    figures: dict[str, Any] = told["figures"]
    return figures | {"peak_mb": peak_kb // 1024}


def main(rows: int) -> None:
    structlog.configure(
        processors=[structlog.processors.JSONRenderer()],
        logger_factory=structlog.ReturnLoggerFactory(),
    )
    with TemporaryDirectory() as name, following() as follower:
        path, url = Path(name) / "record.ndjson", follower.deployed.anvil.url
        began = time.monotonic()
        mandate = work(follower, rows)
        print(f"{rows} rows made and followed in {time.monotonic() - began:.0f} s", flush=True)
        exported_s = export(follower, mandate, path)
        figures = checked(path, url, follower.deployed.contracts["factory"])
    assert figures["rows"] == rows
    print(
        f"exported in {exported_s:.1f} s; checked {rows} rows with {figures['http_requests']} "
        f"HTTP requests in {figures['seconds']} s (bound for {ROWS} rows: {MOST_S} s) and "
        f"{figures['peak_mb']} MB at most (bound: {MOST_MB} MB)"
    )
    result = {
        "verify_rows": rows,
        "verify_s": figures["seconds"],
        "verify_calls": figures["http_requests"],
        "verify_rpc_calls": figures["rpc_calls"],
        "verify_peak_mb": figures["peak_mb"],
        "export_s": round(exported_s, 2),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
