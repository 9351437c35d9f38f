"""Plans of signals: `python -m tests.bench.fund`, `make bench-fund`. The last line is a JSON object.

    plans    as many as one worker answers: each an agent's first plan of a live signal, which it is charged for
    paced    167 a second of distinct payers for 12 seconds, each sent at its time; p99 of what each waited
    64       reads of one live signal by one agent at once: what its ledger was charged

The real process with one worker, a real Postgres, and a node that answers `eth_call` at once: what an
account holds is read by each plan. Each plan is charged, which is checked.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final

import httpx
from sqlalchemy import func, insert, select

from api.kernel.tokens import token_hash
from core.credits.ledger import batch, writer
from core.credits.rules.buckets import Credits
from core.credits.tables import CreditEntry
from core.db.engine import Database, WriteSession
from core.fund import queries as fund
from core.fund.ledger import writer as signal_ledger
from core.fund.rules.frozen import FrozenRules, FundKind, UniverseMarket
from core.fund.rules.signals import NewSignal
from core.fund.tables import FundMirror, FundPlan
from core.identity.tables import Account, ApiKey
from core.mandate.chain.lens import LENS
from core.money import UsdcE6
from scripts._ports import free_port
from tests.bench.load import Wire, request
from tests.bench.place import (
    KEY,
    PEPPER,
    a_database,
    percentile,
    product,
    running,
    url_of,
)
from tests.market_rows import ListedPair, add_pairs, add_rollups

PACE, PACED_S, PACED_CONNECTIONS = 167, 12.0, 64
CONNECTIONS, SECONDS = 8, 10.0
AGENTS = 7_000
AT_ONCE = 64
MARKET: Final = "binance_btc_usdt"


def seed(session: WriteSession, now: datetime) -> tuple[int, list[tuple[str, str]]]:
    """A live signal, and agents with 20 credits each who consented to its vault: key and address."""
    operator = Account(kind="operator", name="bench", created_at=now)
    session.add(operator)
    session.flush()
    listed = ListedPair("binance", "BTC", "USDT", 91_250.5, 5e7)
    listings = add_pairs(session, [listed], now).listings
    add_rollups(session, list(listings.values()), 2, now)
    vault_id = fund.add_vault(
        session, "Bench", FundKind.SPOT, is_simulated=True, maker_id=None, now=now
    )
    rules = FrozenRules(
        vault_id=vault_id,
        version=1,
        kind=FundKind.SPOT,
        mandate="Bench.",
        universe=(UniverseMarket(MARKET, "always", UsdcE6(10_000_000)),),
        most_leverage_e2=100,
    )
    digest = fund.freeze(session, rules, None, now)
    signal = NewSignal(
        vault_id=vault_id,
        rules_version=1,
        market=MARKET,
        weight_e4=2_500,
        leverage_e2=100,
        mid=None,
    )
    seq = signal_ledger.publish(session, signal, operator.id, now)
    agents = [{"kind": "agent", "name": f"b{n}", "created_at": now} for n in range(AGENTS)]
    ids = session.scalars(insert(Account).returning(Account.id), agents).all()
    keys = {id_: (f"svc_key_{id_:032d}", f"0x{id_:040x}") for id_ in ids}
    hashes = {id_: token_hash(PEPPER.encode(), key) for id_, (key, _) in keys.items()}
    of_each = [{"account_id": id_, "created_at": now, "key_hash": hashes[id_]} for id_ in ids]
    session.execute(insert(ApiKey), of_each)
    consent = {
        "vault_id": vault_id,
        "max_order_usdc_e6": 500_000_000,
        "max_leverage_e2": 100,
        "rules_hash": digest,
        "given_at": now,
    }
    consents = [
        consent | {"account_id": id_, "address": bytes.fromhex(address[2:])}
        for id_, (_, address) in keys.items()
    ]
    session.execute(insert(FundMirror), consents)
    postings = [
        batch.NewPosting(
            account_id=id_,
            kind=writer.EARN,
            base_key="bench",
            deltas=Credits(earned=20),
            counter=writer.ISSUANCE,
            payload={},
        )
        for id_ in ids
    ]
    batch.post_all(session, batch.hold(session, ids, now), postings, now)
    return seq, list(keys.values())


def plan_of(seq: int, key: str, address: str) -> bytes:
    body = {"account_address": address}
    return request("POST", f"/fund/signals/{seq}/plan", {KEY: key}, body).encode()


async def charged(wire: Wire, sent: bytes) -> None:
    """Errors: AssertionError for a plan that is not charged."""
    status, body = await wire.ask(sent)
    assert status == 200, body
    assert b'"charged_credits":10' in body, body


async def closed_loop(port: int, requests: Sequence[bytes]) -> float:
    """Plans a minute over CONNECTIONS, each with one under way."""
    waiting, begun = iter(requests), time.perf_counter()

    async def client() -> int:
        wire, count = await Wire.to(port), 0
        for sent in waiting:
            if time.perf_counter() > begun + SECONDS:
                break
            await charged(wire, sent)
            count += 1
        wire.close()
        return count

    done = sum(await asyncio.gather(*(client() for _ in range(CONNECTIONS))))
    return done * 60 / (time.perf_counter() - begun)


async def paced(port: int, requests: Sequence[bytes]) -> list[float]:
    """What each plan waited, from the time that it was due; in seconds."""
    free: asyncio.Queue[Wire] = asyncio.Queue()
    for _ in range(PACED_CONNECTIONS):
        free.put_nowait(await Wire.to(port))
    begins = time.perf_counter() + 0.1
    waited: list[float] = []

    async def one(number: int, sent: bytes) -> None:
        due = begins + number / PACE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        wire = await free.get()
        await charged(wire, sent)
        waited.append(time.perf_counter() - due)
        free.put_nowait(wire)

    await asyncio.gather(*(one(number, sent) for number, sent in enumerate(requests)))
    return sorted(waited)


def charges_of_reads(database: Database, port: int, seq: int, key: str, account_id: int) -> int:
    """What 64 reads at once charged, in prices of a signal."""
    with httpx.Client(limits=httpx.Limits(max_connections=AT_ONCE), timeout=30) as client:

        def read(_: int) -> int:
            url = f"http://127.0.0.1:{port}/fund/signals/{seq}"
            return client.get(url, headers={KEY: key}).status_code

        with ThreadPoolExecutor(AT_ONCE) as pool:
            assert set(pool.map(read, range(AT_ONCE))) == {200}
    with database.read() as session:
        spent = select(func.sum(CreditEntry.counter_delta)).where(
            CreditEntry.account_id == account_id, CreditEntry.kind == writer.SPEND
        )
        return int(session.scalar(spent) or 0) // 10


def measure() -> dict[str, Any]:
    node = free_port()
    settings = {"RPC_URLS": f"http://127.0.0.1:{node}", "RPC_REQUESTS_PER_S": "100000"}
    contracts = dict.fromkeys(("usdc", LENS), "0x" + "12" * 20)
    on_time = round(PACE * PACED_S)
    with a_database() as database:
        with database.write() as session:
            seq, keys = seed(session, datetime.now(UTC))
        requests = [plan_of(seq, key, address) for key, address in keys]
        with (
            running(node, {}, "tests.bench.fund_node", str(node)),
            product(url_of(database), settings, contracts) as where,
        ):
            asyncio.run(closed_loop(where.port, requests[:200]))  # warm
            rate = asyncio.run(closed_loop(where.port, requests[200 : -on_time - 1]))
            waited = asyncio.run(paced(where.port, requests[-on_time - 1 : -1]))
            key, address = keys[-1]
            charges = charges_of_reads(database, where.port, seq, key, int(address, 16))
        sold = CreditEntry.base_key == fund.sale_key(seq)
        with database.read() as reading:
            plans = reading.scalar(select(func.count()).select_from(FundPlan)) or 0
            charged = reading.scalar(select(func.count()).where(sold)) or 0
        assert charged == plans + 1, (charged, plans)
    return {
        "plans_per_min": round(rate),
        "plan_p99_ms": round(percentile(waited, 0.99) * 1000, 1),
        "charges_of_64": charges,
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
