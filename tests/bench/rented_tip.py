"""How the indexer follows the chain on a plan of 25 calls a second: rows of `make bench-indexer`.

catch-up   46 blocks behind, a block each 2 s, one URL whose backends are 0 to 3 blocks apart: seconds until the record is
           within LATE_BLOCKS of the head; -1: not within WITHIN_S
afterwards the most blocks that the record is behind within STAYS_S
"""

import json
import time
from contextlib import ExitStack
from typing import Final
from urllib.parse import urlsplit

from sqlalchemy import text

from tests.bench.place import a_database, begun, folder, url_of
from tests.integration.chain_fixtures import deploy_contracts, start_anvil
from tests.integration.chaos.server import Server
from tests.integration.rented import Pick, Plan, Refuses, Rented

BEHIND, BLOCK_S, CALLS_PER_S, LATE_BLOCKS = 46, 2, 25, 3
WITHIN_S, STAYS_S = 60.0, 40.0
CURSOR: Final = text("select coalesce(max(number), 0) from chain_cursor where name = 'tip'")


def rows() -> dict[str, float]:
    with ExitStack() as stack:
        path, database = stack.enter_context(folder()), stack.enter_context(a_database())
        chain = deploy_contracts(start_anvil())
        stack.callback(chain.anvil.stop)
        chain.write_record(path)
        port, plan = urlsplit(chain.anvil.url).port or 0, Plan(CALLS_PER_S, Refuses.WHOLE)
        node = Server(Rented(port, plan=plan, backends=(0, 1, 2, 3), pick=Pick.RANDOM))
        stack.callback(node.stop)
        chain.anvil.mine(BEHIND)
        chain.rpc.call("evm_setIntervalMining", [BLOCK_S])
        settings = {
            "DATABASE_URL": url_of(database),
            "RPC_URLS": node.url,
            "DEPLOYMENT_FILE": str(path / "deployment.json"),
        }
        stack.callback(begun(settings, "indexer.main").kill)

        def behind() -> int:
            with database.read() as session:
                return chain.reader.block_number() - int(session.scalars(CURSOR).one())

        began, caught_up, most = time.monotonic(), -1.0, 0
        while caught_up < 0 and time.monotonic() - began < WITHIN_S:
            if behind() <= LATE_BLOCKS:
                caught_up = time.monotonic() - began
            time.sleep(0.1)
        ends = time.monotonic() + STAYS_S
        while time.monotonic() < ends:
            most = max(most, behind())
            time.sleep(0.1)
    print(f"plan of {CALLS_PER_S}: {caught_up:.1f} s, then {most} behind", flush=True)
    return {"catch_up_plan_25_s": round(caught_up, 1), "behind_plan_25_blocks": most}


if __name__ == "__main__":
    print(json.dumps(rows()))
