"""Load a simulated world into the stack of `make up`, and nowhere else: `make seed-world`.

50 agents, 200 mandates and a year of their ledgers, by COPY and in one transaction, with what they
offer, submit and say (tests/world/work.py). Every answer about them says that they are simulated.
No step has a bound of time: a slow machine only takes longer. What is refused, before anything is written: no stack.json, a
node that is not anvil on this machine, an API on another machine or not ready, a second world.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from sqlalchemy import insert, select, text

from core.db.engine import Bounds, Database, WriteSession
from core.identity.names import SIMULATED
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.tables import Mandate
from tests.world.mandates import AGENTS, DAYS, Place, SimulatedMandate, world
from tests.world.work import BASES, add_work

UNBOUNDED = Bounds(connect_s=60, statement_s=0, lock_s=0, idle_in_transaction_s=0)
ANSWER_S = 60.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")
LOCAL_CHAIN = 84532


class SeedRefusedError(Exception):
    """This is no place for a simulated world; the message says why."""


def main() -> int:
    stack = Path(os.environ.get("STACK_DIR") or ".local") / "stack.json"
    try:
        facts = stack_of(stack)
        database = Database(facts["database_url"], application_name="seed-world", bounds=UNBOUNDED)
        try:
            began = time.monotonic()
            rows = seed(database, place_of(facts), datetime.now(UTC))
        finally:
            database.close()
    except SeedRefusedError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    took_s = time.monotonic() - began
    print(f"{AGENTS} simulated agents, {rows:,} rows, in {took_s:.1f} s")
    print(
        "gallery, tasks, rooms and the earn feed are filled too; the Hall shows them after its next build, within about two minutes"
    )
    return 0


def stack_of(file: Path) -> Mapping[str, Any]:
    """What `make up` wrote of the stack that runs now. Errors: SeedRefusedError."""
    if not file.exists():
        raise SeedRefusedError(f"{file} is not there; start the stack with `make up`")
    facts: dict[str, Any] = json.loads(file.read_text())
    for name in ("base_url", "rpc_url"):
        if urlsplit(facts[name]).hostname not in LOOPBACK:
            raise SeedRefusedError(f"{name} is {facts[name]}, which is not on this machine")
    if facts["chain_id"] != LOCAL_CHAIN:
        raise SeedRefusedError(f"the chain is {facts['chain_id']}, not {LOCAL_CHAIN}")
    try:
        node = _rpc(facts["rpc_url"], "web3_clientVersion")
        ready = httpx.get(f"{facts['base_url']}/health/live", timeout=ANSWER_S).status_code
    except httpx.HTTPError as error:
        raise SeedRefusedError(f"the stack does not answer ({error}); start it") from None
    if not str(node).startswith("anvil/"):
        raise SeedRefusedError(f"the node says that it is {node!r}, not anvil")
    if ready != 200:
        raise SeedRefusedError(f"{facts['base_url']}/health/live answers {ready}")
    return facts


def place_of(facts: Mapping[str, Any]) -> Place:
    contracts = facts["contracts"]
    return Place(
        chain_id=facts["chain_id"],
        factory=contracts["factory"],
        usdc=contracts["usdc"],
        adapter=contracts["test_venue_adapter"],
    )


def seed(
    database: Database, place: Place, now: datetime, agents: int = AGENTS, days: int = DAYS
) -> int:
    """Write the world, all or nothing; answers how many rows of ledgers it has.

    Errors: SeedRefusedError when there is one already.
    """
    mandates = list(world(place, now, agents, days))
    with database.write() as session:
        if session.scalar(select(Account.id).where(Account.registered_from == SIMULATED).limit(1)):
            raise SeedRefusedError(
                "this stack has a simulated world already; stop the stack and start it again to empty it"
            )
        owners = _accounts(session, "owner", agents, now, [None] * agents)
        ids = _accounts(session, "agent", agents, now, owners)
        ledgers = dict(zip(_mandates(session, mandates, owners, ids), mandates, strict=True))
        grown = mandate_ledger.append_ledgers(
            session, {mandate_id: one.rows for mandate_id, one in ledgers.items()}, now
        )
        if agents > len(BASES):
            add_work(session, ids, now)
    with database.write() as session:
        session.execute(text("analyze mandate, mandate_event, mandate_head, account"))
    return grown.rows


def _accounts(
    session: WriteSession, kind: str, count: int, now: datetime, owners: list[Any]
) -> list[int]:
    values = [
        {
            "kind": kind,
            "name": f"Simulated {kind} {number + 1}",
            "owner_id": owners[number],
            "registered_from": SIMULATED,
            "created_at": now,
        }
        for number in range(count)
    ]
    query = insert(Account).returning(Account.id, sort_by_parameter_order=True)
    return list(session.scalars(query, values))


def _mandates(
    session: WriteSession, mandates: list[SimulatedMandate], owners: list[int], agents: list[int]
) -> list[int]:
    values = [
        {**one.values, "owner_id": owners[one.agent], "agent_id": agents[one.agent]}
        for one in mandates
    ]
    query = insert(Mandate).returning(Mandate.id, sort_by_parameter_order=True)
    return list(session.scalars(query, values))


def _rpc(url: str, method: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": []}
    return httpx.post(url, json=body, timeout=ANSWER_S).json().get("result")


if __name__ == "__main__":
    sys.exit(main())
