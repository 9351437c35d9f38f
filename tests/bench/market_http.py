"""What reads of the market cost over HTTP, beside a bare route that returns the same bytes.

    python -m tests.bench.market_http

6,000 listings, of which one has 90 days of two-hour figures. Board and search are asked for by one
client, in turn with a FastAPI route that has the very bytes at hand: 2,000 calls of each a round.
Eight pages of the board and sixteen searches take turns, so that answers are read anew when those
kept are too old. The last line is one JSON object: board_p99_ratio, search_p99_ratio, the median of
five rounds; research_p99_ms of 90 days; and, beside the bounds, what a read costs that nobody asked
for before (`*_cold_ms`, medians).
"""

import http.client
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import uvicorn
from fastapi import FastAPI, Response
from sqlalchemy import text

from core.db.engine import Database
from core.subscriptions.tables import Subscription
from core.targets.queries import add_target
from tests.bench.alternating import p99_ratio
from tests.bench.api import ROOT, Place, place
from tests.market_rows import ListedPair, add_pairs, add_rollups

LISTINGS, DAYS, RESEARCH_CALLS, COLD_CALLS = 6_000, 90, 500, 40
EXCHANGES: Final = ("binance", "bybit", "okx", "kucoin", "gate", "bitget")
BOARDS: Final = tuple(f"/board?limit=200&offset={200 * page}" for page in range(8))
SEARCHES: Final = tuple(f"/tokens/search?q=T{number}" for number in range(16))
RESEARCH: Final = f"/agent/research/binance/T0_USDT?days={DAYS}"
Caller = Callable[[str], bytes]


def pairs(count: int) -> Iterator[ListedPair]:
    """So many listings, each asset at every exchange."""
    for number in range(count):
        token, place_ = divmod(number, len(EXCHANGES))
        grade = ("A", "B", "F", None)[token % 4]
        yield ListedPair(
            EXCHANGES[place_], f"T{token}", "USDT", 1.5 + token, 1e9 / (1 + number), grade
        )


def fill(database: Database, now: datetime, account_id: int, listings: int = LISTINGS) -> None:
    """The market, and one listing of it as a target of the account."""
    until = now + timedelta(days=30)
    with database.write() as session:
        ids = add_pairs(session, pairs(listings), now)
        first = ids.listings["binance_t0_usdt"]
        add_rollups(session, [first], DAYS, now)
        session.merge(
            Subscription(account_id=account_id, until=until, tier_2_until=until, purchases=1)
        )
        add_target(session, account_id, first, 0, now)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("vacuum analyze listing_state, snap_2h, asset_state"))


def caller(port: int, headers: dict[str, str] | None = None) -> Caller:
    """Asks over one connection that stays open. Errors: AssertionError for what is not 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(path: str) -> bytes:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (path, answer.status, body[:300])
        return body

    return ask


@contextmanager
def bare_server(bodies: Sequence[bytes]) -> Iterator[int]:
    """A FastAPI application in a process of its own, whose routes return these bytes."""
    with TemporaryDirectory() as folder:
        for number, body in enumerate(bodies):
            (Path(folder) / str(number)).write_bytes(body)
        command = [sys.executable, "-m", "tests.bench.market_http", "serve", folder]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()
            process.wait()


def serve(folder: str) -> None:
    app = FastAPI()
    bodies = {int(one.name): one.read_bytes() for one in Path(folder).iterdir()}

    @app.get("/bare/{number}")
    def bare(number: int) -> Response:
        return Response(bodies[number], media_type="application/json")

    config = uvicorn.Config(
        app, port=0, log_config=None, access_log=False, proxy_headers=False, server_header=False
    )
    listening = config.bind_socket()
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(config).run(sockets=[listening])


def ratio(where: Place, paths: Sequence[str]) -> float:
    first = caller(where.product_port)
    with bare_server([first(path) for path in paths]) as port:
        bare, product = caller(port), caller(where.product_port)
        ours, theirs = cycle(paths), cycle(range(len(paths)))
        return p99_ratio(
            lambda: _done(bare(f"/bare/{next(theirs)}")), lambda: _done(product(next(ours)))
        )


def _done(body: bytes) -> None:
    assert body


def timed_ms(ask: Caller, paths: Sequence[str]) -> list[float]:
    times = []
    for path in paths:
        began = time.perf_counter()
        ask(path)
        times.append(1_000 * (time.perf_counter() - began))
    return times


def figures(listings: int = LISTINGS) -> dict[str, Any]:
    now = datetime.now(UTC)
    with place() as where:
        made = where.post("/auth/agent/connect", {"agent_name": "bench"})
        database = Database(where.database_url)
        try:
            fill(database, now, int(made["user_id"]), listings)
        finally:
            database.close()
        product = caller(where.product_port)
        cold = {
            "board_cold_ms": timed_ms(
                product, [f"/board?limit=200&offset={n}" for n in range(1, COLD_CALLS)]
            ),
            "search_cold_ms": timed_ms(
                product, [f"/tokens/search?q=T{n}" for n in range(100, 100 + COLD_CALLS)]
            ),
        }
        found: dict[str, Any] = {
            "board_p99_ratio": ratio(where, BOARDS),
            "search_p99_ratio": ratio(where, SEARCHES),
        }
        keyed = caller(where.product_port, {"X-SVC-User-Key": str(made["api_key"])})
        timed_ms(keyed, [RESEARCH] * 20)
        times = timed_ms(keyed, [RESEARCH] * RESEARCH_CALLS)
        found["research_p99_ms"] = round(statistics.quantiles(times, n=100)[98], 1)
    return found | {name: round(statistics.median(times), 2) for name, times in cold.items()}


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2])
    else:
        print(json.dumps(figures()))


if __name__ == "__main__":
    main()
