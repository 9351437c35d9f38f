"""From a mined block to its committed ledger row, on the whole stack, with about one block a second. Times are
milliseconds.
"""

import statistics
import time
from functools import partial

import psycopg

from scripts._ports import Ports
from scripts.demo import Story, sign_and_fund, sign_in
from scripts.devstack import Stack
from tests.bench.place import folder, percentile, until

SAMPLES = 40
PAUSE_S = 0.25  # the indexer's interval
ROW = "select 1 from mandate_event where tx_hash = %s and reported_by = 'chain' and block_hash is not null"


def _is_there(connection: psycopg.Connection[tuple[int]], tx_hash: bytes) -> bool:
    return connection.execute(ROW, (tx_hash,)).fetchone() is not None


def measure() -> dict[str, float]:
    """{p50_ms, p95_ms, max_ms}."""
    times_s = list[float]()
    with folder() as path, Stack(path / "s", Ports.free()) as stack:
        story = Story(stack.facts)
        sign_in(story)
        sign_and_fund(story)
        story.agent_api.mandates.accept(story.id)
        url = stack.facts["database_url"].replace("+psycopg", "")
        with psycopg.connect(url, autocommit=True) as connection:
            for number in range(SAMPLES):
                call = story.build_buy("1.000000")
                time.sleep(PAUSE_S + 0.07 * (number % 11))  # spread over the polling interval
                sent = bytes.fromhex(story.agent.send(call)["tx_hash"][2:])
                times_s.append(until(partial(_is_there, connection, sent)))
    ordered = sorted(times_s)
    return {
        "p50_ms": round(statistics.median(ordered) * 1000),
        "p95_ms": round(percentile(ordered, 0.95) * 1000),
        "max_ms": round(ordered[-1] * 1000),
    }
