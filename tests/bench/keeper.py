"""How fast the keeper is, beside the block time of the chain it watches: `make bench-keeper`.

    mark        1,000 vaults read and judged: HTTP requests and seconds, nothing sent
    stop        100 vaults fall through their floors in one block, three times over, on a chain with a block every 2 s: blocks
                from the crossing to each stop; the best possible is 1
    rented      200 vaults fall behind load balancers over backends that are blocks apart (rented_stops.py)
    many        2,000, 20,000 and 100,000 vaults at the default budget of calls, with a million judgements: the first look, a
                later tick, calls and memory
    take-over   a leading process killed, and one frozen: to the spare's epoch

The last line is one JSON object.
"""

import json
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from core.chain.nodes import Nodes
from core.db.leadership import Leadership
from core.mandate.chain.reader import VaultReader
from core.mandate.venues import test_venue
from keeper.read import Lenses
from keeper.tick import Tick
from tests.bench import many_vaults, rented_stops
from tests.bench.indexer import take_over
from tests.bench.keeper_world import AT_THE_FLOOR, BLOCK_S, World, p99, world
from tests.bench.place import until, url_of
from tests.personas import OPERATOR

VAULTS = 1_000
FALLING = 100
ROUNDS = 3


def fill(where: World) -> list[list[str]]:
    """Three groups whose vaults hold a position in a venue of their own, and vaults that hold cash
    alone.
    """
    print(f"making {VAULTS} vaults", flush=True)
    owner, agent = where.accounts()
    groups = []
    for group in range(ROUNDS):
        where.new_venue()
        numbers = range(group * FALLING, (group + 1) * FALLING)
        groups.append([where.new_vault(n, owner, agent, position=True) for n in numbers])
    for n in range(ROUNDS * FALLING, VAULTS):
        where.new_vault(n, owner, agent, position=False)
    return groups


def mark(where: World) -> tuple[int, float]:
    """(HTTP requests, seconds) of the dearest of three ticks that read and judge every vault and
    send nothing.
    """
    leadership = Leadership(url_of(where.database), "keeper", "bench")
    assert leadership.try_take(datetime.now(UTC))
    rpc = Nodes([where.chain.anvil.url], calls_per_s=100_000)
    tick = Tick(
        desk=many_vaults.dry_run(where.database, rpc, leadership),
        lenses=Lenses(VaultReader(rpc, where.chain.contracts)),
        max_head_age_s=3_600,
        now=lambda: datetime.now(UTC),
    )
    requests, seconds = [], []
    for _ in range(3):
        before, begun = rpc.stats()[0].requests, time.monotonic()
        report = tick.run(datetime.now(UTC))
        seconds.append(time.monotonic() - begun)
        requests.append(rpc.stats()[0].requests - before)
        assert (report.vaults, report.unknown) == (VAULTS, 0), report
    leadership.release()
    rpc.close()
    return max(requests), max(seconds)


def stops(where: World, groups: Sequence[Sequence[str]]) -> list[int]:
    """Blocks from the one in which the price fell to the one with the stop, of each vault of each
    round.
    """
    where.start_keeper()
    until(lambda: where.judged() == VAULTS)
    where.chain.rpc.call("evm_setIntervalMining", [BLOCK_S])
    waited: list[int] = []
    for venue, vaults in zip(where.venues, groups, strict=True):
        crossed = where.chain.succeed(
            OPERATOR, venue, test_venue.set_price(AT_THE_FLOOR)
        ).block_number
        waited += [number - crossed for number in where.stopped_at(vaults, crossed) or []]
        print(
            f"{len(vaults)} vaults fell in block {crossed}; stopped "
            f"{sorted(set(waited[-len(vaults) :]))} blocks later",
            flush=True,
        )
    where.chain.rpc.call("evm_setIntervalMining", [0])
    where.chain.rpc.call("evm_setAutomine", [True])
    return waited


def main() -> None:
    with world() as where:
        groups = fill(where)
        calls, seconds = mark(where)
        waited = stops(where, groups)
        killed, frozen = (
            take_over(where.processes[-1], where.start_keeper, where.epoch, how)
            for how in (signal.SIGKILL, signal.SIGSTOP)
        )
    result = {
        "mark_1000_calls": calls,
        "mark_1000_s": round(seconds, 2),
        "stop_p99_blocks": p99(waited),
        "stop_max_blocks": max(waited),
        "block_s": BLOCK_S,
        "takeover_s": round(max(killed, frozen), 2),
        "takeover_killed_s": round(killed, 2),
        **rented_stops.rows(),
        **many_vaults.rows(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
