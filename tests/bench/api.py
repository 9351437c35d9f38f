"""`make bench-api`: what the API costs beside a plain application, reads of long ledgers (long_ledgers.py), and
what a hostile caller costs the others (hostile.py).

    keyed     an agent lists its mandates, with a key
    metered   an agent reads a page that costs a credit
    report    an agent reports a note of its mandate
    two       the keyed read by two processes at once, half the clients each, beside one alone
    one       the metered read, all of one account; its calls are counted beside the day's in Postgres
    import    `import api.main` beside the libraries that it stands on, bytecode cached

Product and twin (twin.py) are a process each on one Postgres, and the same client asks both in turn; both
give the same bodies, and count and charge what they serve, which is checked. Medians of rounds. The last
line is one JSON object.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from tests.bench import hostile, long_ledgers
from tests.bench.load import load, request
from tests.bench.mandates import Added, add_mandates
from tests.bench.place import (
    HEAP,
    KEY,
    ROOT,
    Agent,
    Place,
    cpu_s,
    migrated,
    product,
    served,
    twin,
    url_of,
)

ROUNDS, SECONDS, CLIENTS = 7, 3.0, 16
MANDATES: Final = 3  # of each agent
KEYED: Final = "/mandate-wallet/mandates"
METERED: Final = "/playbooks/first-hour/loop.md"
NOTE: Final = {"kind": "note", "why": "The price holds.", "payload": {"text": "Look."}}
OWN: Final = {"id", "row_hash", "occurred_at", "created_at"}  # of a row, whoever writes it
STOOD_ON: Final = ("fastapi", "sqlalchemy.orm", "psycopg", "web3", "mcp")
IMPORT: Final = """
import sys, time
began = time.process_time()
__import__(sys.argv[1])
print(time.process_time() - began)
"""
SETTINGS: Final = {"FREE_READS_PER_DAY": "1", "WELCOME_CREDITS": HEAP}


@dataclass(frozen=True, slots=True)
class Sides:
    where: Place
    twin_port: int
    twin_pid: int
    agents: list[Agent]
    mandates: list[Added]  # one of each agent

    def requests(self) -> dict[str, list[str]]:
        """By kind, one of each agent."""
        headers = [{KEY: agent.key} for agent in self.agents]
        return {
            "keyed": [request("GET", KEYED, one) for one in headers],
            "metered": [request("GET", METERED, one) for one in headers],
            "report": [
                request("POST", f"{KEYED}/{mandate.public_id}/events", one, NOTE)
                for one, mandate in zip(headers, self.mandates, strict=True)
            ],
        }

    def both(self) -> Mapping[str, tuple[int, int]]:
        """Port and process of either."""
        return {
            "product": (self.where.port, self.where.pid),
            "twin": (self.twin_port, self.twin_pid),
        }


@contextmanager
def sides() -> Iterator[Sides]:
    with served() as server, migrated(server) as database:
        url = url_of(database)
        with product(url, SETTINGS) as where, twin(url) as (port, pid):
            agents = where.agents(CLIENTS)
            mandates = [add_mandates(database, agent.id, MANDATES)[0][0] for agent in agents]
            made = Sides(where, port, pid, agents, mandates)
            _require_same_bodies(made)
            yield made
            _require_sound(database, mandates)


def _require_same_bodies(made: Sides) -> None:
    for agent, mandate in zip(made.agents, made.mandates, strict=True):

        def asked(port: int, path: str, body: object = None, key: str = agent.key) -> Any:
            method, url = "GET" if body is None else "POST", f"http://127.0.0.1:{port}{path}"
            answer = httpx.request(method, url, json=body, headers={KEY: key}, timeout=60)
            assert answer.status_code == 200, answer.text
            is_json = "json" in answer.headers["content-type"]
            return answer.json() if is_json else answer.text

        asked(made.where.port, METERED)  # the free read of the day
        lists, pages, reports = (
            [asked(port, path, body) for port, _ in made.both().values()]
            for path, body in (
                (KEYED, None),
                (METERED, None),
                (f"{KEYED}/{mandate.public_id}/events", NOTE),
            )
        )
        for one in reports:
            one["event"] = {k: v for k, v in one["event"].items() if k not in OWN}
        for ours, plain in (lists, pages, reports):
            assert ours == plain, (ours, plain)
        assert len(lists[0]["mandates"]) == MANDATES


def _require_sound(database: Database, mandates: Sequence[Added]) -> None:
    with database.read() as session:
        for mandate in mandates[:4]:
            assert mandate_ledger.verify(session, mandate.id) == []


def beside_twin(made: Sides) -> dict[str, Any]:
    """Rates and p99 of either; `cpu` is the processor time of a call, which says more on a busy machine."""
    rounds: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for number in range(ROUNDS):
        for kind, requests in made.requests().items():
            for side in made.both():
                rounds.setdefault((kind, side), []).append(_round(made, kind, side, requests))
        said = {f"{kind} {side}": one[-1]["a_second"] for (kind, side), one in rounds.items()}
        print(f"round {number + 1}: {said}", flush=True)
    found, p99s = dict[str, Any](), list[float]()
    for kind, name in (("keyed", "keyed_read"), ("metered", "metered"), ("report", "report")):
        rate, p99, cpu = (
            [statistics.median(one[of] for one in rounds[kind, side]) for side in made.both()]
            for of in ("a_second", "p99_ms", "cpu_ms")
        )
        print(f"{kind}, product and twin: {rate} a second, p99 {p99} ms, {cpu} ms on a core")
        found |= {
            f"{name}_rps": round(rate[0]),
            f"{name}_twin_ratio": round(rate[0] / rate[1], 2),
            f"{name}_twin_cpu_ratio": round(cpu[1] / cpu[0], 2),
        }
        p99s.append(round(p99[0] / p99[1], 2))
    return found | {"p99_twin_ratio": max(p99s), "p99_twin_ratios": p99s}


def _round(made: Sides, kind: str, side: str, requests: Sequence[str]) -> dict[str, Any]:
    """Each answer of it was counted, and charged where it costs something."""
    port, pid = made.both()[side]
    spent = ("credit_entry", "coalesce(sum(counter_delta) filter (where kind = 'spend'), 0)")
    before, used = (made.where.counted(), made.where.counted(*spent)), cpu_s(pid)
    taken = load(port, requests, CLIENTS, SECONDS)
    used, answered = cpu_s(pid) - used, taken["answered"]
    counted = made.where.counted() - before[0], made.where.counted(*spent) - before[1]
    assert counted == (answered, answered if kind == "metered" else 0), (counted, taken)
    return taken | {"cpu_ms": round(1_000 * used / answered, 2)}


def of_one_account(made: Sides) -> dict[str, Any]:
    """CLIENTS writers on one counter and one ledger."""
    before, one = made.where.counted(), made.requests()["metered"][:1]
    taken = load(made.where.port, one, CLIENTS, SECONDS)
    lost = taken["answered"] - (made.where.counted() - before)
    return {"metered_one_account_rps": round(taken["a_second"]), "lost_updates": lost}


def two_processes_rps(made: Sides) -> float:
    """What both answer in a second, the median of the rounds."""
    requests = made.requests()["keyed"]
    with product(made.where.database_url, SETTINGS) as second, ThreadPoolExecutor(2) as pool:

        def half(port: int) -> float:
            return float(load(port, requests, CLIENTS // 2, SECONDS)["a_second"])

        ports = (made.where.port, second.port)
        return statistics.median(sum(pool.map(half, ports)) for _ in range(ROUNDS))


def imported_s(module: str) -> float:
    """On a core: the least of a few processes, the first of which writes what bytecode is missing."""
    command = [sys.executable, "-c", IMPORT, module]
    times = (subprocess.check_output(command, cwd=ROOT, text=True) for _ in range(5))
    return min(map(float, times))


def imports() -> dict[str, Any]:
    ours, theirs = imported_s("api.main"), sum(map(imported_s, STOOD_ON))
    print(f"import api.main {ours:.2f} s, {' and '.join(STOOD_ON)} {theirs:.2f} s")
    return {"import_s": round(ours, 2), "import_ratio": round(ours / theirs, 2)}


def measure() -> dict[str, Any]:
    with sides() as made:
        found = beside_twin(made)
        both = two_processes_rps(made)
        found |= of_one_account(made)
    found["two_process_ratio"] = round(both / found["keyed_read_rps"], 2)
    return found | imports()


if __name__ == "__main__":
    print(json.dumps(measure() | long_ledgers.measure() | hostile.measure()))
