"""From a mined block to its committed ledger row, on the whole stack, with about one block a
second.

The baseline, in the same run, is a bare poller that asks the node for its tip at the indexer's
interval and writes nothing: nobody who polls at that interval can see a block sooner. Times are
milliseconds.
"""

import statistics
import threading
import time
from pathlib import Path
from tempfile import mkdtemp

import psycopg
from web3 import HTTPProvider, Web3

from scripts._ports import Ports
from scripts.demo import Story, sign_and_fund, sign_in
from scripts.devstack import Stack

SAMPLES = 40
POLL_S = 0.25


class BarePoller(threading.Thread):
    """When each height was first seen by polling alone."""

    def __init__(self, rpc_url: str) -> None:
        super().__init__(daemon=True)
        self.web3 = Web3(HTTPProvider(rpc_url))
        self.seen: dict[int, float] = {self.web3.eth.block_number: 0.0}
        self.is_over = threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(POLL_S):
            head = self.web3.eth.block_number
            for number in range(max(self.seen) + 1, head + 1):
                self.seen[number] = time.monotonic()


def await_row(
    connection: psycopg.Connection[tuple[int]], tx_hash: bytes, within_s: float = 10
) -> float:
    ends = time.monotonic() + within_s
    while time.monotonic() < ends:
        found = connection.execute(
            "SELECT 1 FROM mandate_event WHERE tx_hash = %s AND reported_by = 'chain' AND "
            "block_hash IS NOT NULL",
            (tx_hash,),
        ).fetchone()
        if found:
            return time.monotonic()
        time.sleep(0.005)
    raise SystemExit(f"no row for {tx_hash.hex()} within {within_s} s")


def figures(times_s: list[float]) -> dict[str, float]:
    ordered = sorted(times_s)
    return {
        "p50_ms": round(statistics.median(ordered) * 1000),
        "p95_ms": round(ordered[int(len(ordered) * 0.95) - 1] * 1000),
        "max_ms": round(ordered[-1] * 1000),
    }


def measure() -> dict[str, dict[str, float]]:
    """{mined_to_row, bare_poller}, each {p50_ms, p95_ms, max_ms}."""
    parent = Path(mkdtemp(prefix="bench-"))
    parent.chmod(0o755)
    rows: list[float] = []
    polls: list[float] = []
    with Stack(parent / "s", Ports.free()) as stack:
        story = Story(stack.facts)
        sign_in(story)
        sign_and_fund(story)
        story.agent_api.post(f"/mandate-wallet/mandates/{story.id}/accept", {})
        poller = BarePoller(stack.rpc_url)
        poller.start()
        with psycopg.connect(
            stack.facts["database_url"].replace("+psycopg", ""), autocommit=True
        ) as connection:
            for number in range(SAMPLES):
                call = story.build("buy(uint256)", "1.000000", 1_000_000)
                time.sleep(0.07 * (number % 11))  # spread over the polling interval
                receipt = story.agent.send(call["to"], call["data"])
                mined = time.monotonic()
                rows.append(await_row(connection, bytes(receipt["transactionHash"])) - mined)
                time.sleep(POLL_S)
                polls.append(max(0.0, poller.seen[receipt["blockNumber"]] - mined))
                print(f"\r{number + 1}/{SAMPLES}", end="", flush=True)
        poller.is_over.set()
    print()
    return {"mined_to_row": figures(rows), "bare_poller": figures(polls)}
