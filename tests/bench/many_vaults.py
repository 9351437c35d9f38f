"""How long the keeper looks at very many vaults, at the default budget of calls: rows of `make
bench-keeper`.

The chain is a small JSON-RPC server of this file that answers for the lens, the same of each vault:
a real chain with 20,000 vaults takes an hour to make, and the node's own speed is not what is
measured. The database is real, with a million judgements.
"""

import gc
import json
import multiprocessing
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sqlalchemy import text

from core.chain.abi import function
from core.chain.nodes import Nodes
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.chain.reader import VaultReader
from core.settings import Settings
from keeper.gas import Caps
from keeper.intents import Desk
from keeper.read import Lenses
from keeper.tick import Tick
from tests.bench.place import a_database, url_of, vacuum

CHAIN_ID = 84532
FACTORY, LENS = "0x" + "fa" * 20, "0x" + "1e" * 20
MARKS = 1_000_000
MARKS_A_TIME = 50_000
VALUED, WORKING, WORTH = 3, 1, 1_000_000_000
READINGS = function("VaultLens", "readings").selector
# outcome, status, agent, worth, what is out at cost, own cash, fee owed, log head
ROW = "".join(f"{word:064x}" for word in (VALUED, WORKING, 0, WORTH, 0, WORTH, 0, 0))
KEEPERS = {
    function("MandateVaultFactory", "keeper").selector: "0x" + "00" * 32,
    function("MandateVaultFactory", "pendingKeeper").selector: "0x" + "00" * 64,
}


class _Node(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answers = [_answer(call) for call in asked] if isinstance(asked, list) else _answer(asked)
        body = json.dumps(answers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_: Any) -> None:
        """Nothing is told of a request."""


def _answer(call: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": call["id"], "result": _result(call["method"], call["params"])}


def _result(method: str, params: list[Any]) -> Any:
    now = int(time.time())
    number = now - 1_700_000_000
    if method == "eth_call":
        data = params[0]["data"]
        return _readings(data, number, now) if data.startswith(READINGS) else KEEPERS[data]
    if method == "eth_blockNumber":
        return hex(number)
    zero = "0x" + "00" * 32
    return {
        "number": hex(number), "hash": zero, "parentHash": zero, "timestamp": hex(now),
        "logsBloom": "0x" + "00" * 256,
        "transactions": [], "baseFeePerGas": hex(10**9),
    }  # fmt: skip


def _readings(data: str, number: int, now: int) -> str:
    """Of as many vaults as the call names: the selector, an offset, and then how many."""
    count = int(data[74:138], 16)
    block = "".join(f"{word:064x}" for word in (number, now, 0, count, 160, count))
    return "0x" + block + ROW * count


def _serve(ports: Any) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Node)
    ports.put(server.server_port)
    server.serve_forever()


@contextmanager
def node() -> Iterator[str]:
    """The address of a running one."""
    # a fork would hold the pipes of whoever else was started here
    apart = multiprocessing.get_context("spawn")
    ports: Any = apart.Queue()
    process = apart.Process(target=_serve, args=(ports,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ports.get(timeout=120)}"
    finally:
        process.terminate()
        process.join()


def fill(database: Database, vaults: int, marks: int) -> None:
    """So many working mandates with their vaults, and judgements spread over them."""
    with database.write() as session:
        session.execute(
            text(
                "insert into account (kind, name, wallet_address, created_at) values ('owner', "
                "'owner', '\\x01', now())"
            )
        )
        session.execute(text(_MANDATES), {"vaults": vaults, "chain_id": CHAIN_ID})
        session.execute(text(_VAULTS), {"chain_id": CHAIN_ID})
    for first in range(1, marks + 1, MARKS_A_TIME):
        with database.write() as session:
            last = min(first + MARKS_A_TIME - 1, marks)
            session.execute(
                text(_MARKS), {"first": first, "last": last, "vaults": vaults, "chain_id": CHAIN_ID}
            )
    vacuum(database)


_MANDATES = """
insert into mandate (public_id, owner_id, open_board, status, market_mode, purpose, budget_usdc_e6, horizon_days, stop_floor_bps,
    payout_rule, allowed_targets, on_floor, chain_id, terms, rules, guard_targets, terms_digest, terms_version, vault_address, ends_at,
    created_at, updated_at)
select 'm_' || n, (select max(id) from account), false, 'working', 'testnet', 'bench', 1000000000, 30, 500, '{}', '[]', 'keep',
    :chain_id, '{}', '[]', '[]', sha256(int8send(n)), 2, substring(sha256(int8send(n)) for 20), now() + interval '30 days', now(), now()
from generate_series(1, cast(:vaults as int)) n
"""
_VAULTS = """
insert into vault (chain_id, address, created_block_hash, created_number, created_at, factory, terms_digest, public_id, owner, mandate_id)
select :chain_id, vault_address, terms_digest, 1, 1700000000, '\\xfa', terms_digest, public_id, '\\x01', id from mandate
"""
_MARKS = """
insert into vault_mark (chain_id, vault, block_number, block_hash, worth_usdc_e6, floor_usdc_e6, source, at)
select :chain_id, substring(sha256(int8send(1 + n % cast(:vaults as int))) for 20), n, sha256(''), 1000000000, 950000000, 'vault.worth',
    now() - interval '1 hour' from generate_series(cast(:first as int), cast(:last as int)) n
"""


@dataclass(frozen=True, slots=True)
class Looked:
    """Seconds of the first tick of a process and of the next one, calls of that, and the most memory
    that the process used.
    """

    first_s: float
    later_s: float
    calls: int
    rss_mb: int


def looked_at(vaults: int, marks: int = MARKS) -> Looked:
    gc.freeze()  # as core.startup does in every process
    with a_database() as database, node() as url:
        fill(database, vaults, marks)
        leadership = Leadership(url_of(database), "keeper", "bench")
        assert leadership.try_take(datetime.now(UTC))
        rpc = Nodes([url], calls_per_s=Settings.model_fields["rpc_requests_per_s"].default)
        tick = tick_of(database, rpc, leadership)
        seconds, calls = [], 0
        for _ in range(2):
            begun, calls = time.monotonic(), rpc.stats()[0].calls
            report = tick.run(datetime.now(UTC))
            seconds.append(time.monotonic() - begun)
            assert (report.vaults, report.unknown) == (vaults, 0), report
        calls = rpc.stats()[0].calls - calls
        leadership.release()
        rpc.close()
    rss_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Looked(seconds[0], seconds[1], calls, rss_mb)


def dry_run(database: Database, rpc: Nodes, leadership: Leadership) -> Desk:
    return Desk(
        rpc=rpc,
        database=database,
        chain_id=CHAIN_ID,
        signers={},
        caps=Caps(1, 1),
        epoch=lambda: leadership.epoch,
        fence=leadership.fence,
    )


def tick_of(database: Database, rpc: Nodes, leadership: Leadership) -> Tick:
    return Tick(
        desk=dry_run(database, rpc, leadership),
        lenses=Lenses(VaultReader(rpc, {"factory": FACTORY, "vault_lens": LENS})),
        max_head_age_s=3_600,
        now=lambda: datetime.now(UTC),
    )


def rows() -> dict[str, float]:
    """The figures of 2,000, of 20,000 and of 100,000 vaults."""
    found: dict[str, float] = {}
    for name, vaults in (("2k", 2_000), ("20k", 20_000), ("100k", 100_000)):
        looked = looked_at(vaults)
        print(f"{vaults} vaults: {looked}", flush=True)
        found |= {
            f"first_look_{name}_s": round(looked.first_s, 2),
            f"tick_{name}_s": round(looked.later_s, 2),
            f"calls_{name}": looked.calls,
            f"rss_mb_{name}": looked.rss_mb,
        }
    return found


if __name__ == "__main__":
    print(json.dumps(rows()))
