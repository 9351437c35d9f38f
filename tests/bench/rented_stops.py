"""How soon the keeper stops vaults on the nodes that people rent: rows of `make bench-keeper`.

    balanced      200 vaults fall in one block, behind two URLs, each with four backends 0 to 3 blocks apart, any of which
                  answers a request
    alternating   the same behind one URL whose two backends, three blocks apart, take turns

A block every 2 s. -1: not all were stopped within WITHIN_BLOCKS.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from core.mandate.venues import test_venue
from tests.bench.keeper_world import AT_THE_FLOOR, BLOCK_S, World, p99, world
from tests.bench.place import until
from tests.integration.chaos.server import Server
from tests.integration.rented import Pick, Rented
from tests.personas import OPERATOR

STOPS: Final = 200
WITHIN_BLOCKS: Final = 40
BALANCED: Final = ((0, 1, 2, 3), (0, 1, 2, 3))
ALTERNATING: Final = ((0, 3),)


@contextmanager
def rented(port: int, urls: Sequence[Sequence[int]], pick: Pick) -> Iterator[list[str]]:
    """URLs, each with backends so many blocks behind."""
    servers = [
        Server(Rented(port, backends=backends, pick=pick, seed=seed))
        for seed, backends in enumerate(urls)
    ]
    try:
        yield [server.url for server in servers]
    finally:
        for server in servers:
            server.stop()


def waits(where: World, urls: list[str]) -> list[int] | None:
    """Blocks from the one in which the price fell to each stop; None: not all were stopped in time."""
    owner, agent = where.accounts()
    venue = where.new_venue()
    first = STOPS * len(where.venues)
    vaults = [where.new_vault(first + n, owner, agent, position=True) for n in range(STOPS)]
    process = where.start_keeper(urls)
    until(lambda: where.judged() >= STOPS)
    where.chain.rpc.call("evm_setIntervalMining", [BLOCK_S])
    fell = where.chain.succeed(OPERATOR, venue, test_venue.set_price(AT_THE_FLOOR))
    stopped = where.stopped_at(vaults, fell.block_number, WITHIN_BLOCKS)
    where.chain.rpc.call("evm_setIntervalMining", [0])
    where.chain.rpc.call("evm_setAutomine", [True])
    process.terminate()
    process.wait(30)
    return None if stopped is None else [number - fell.block_number for number in stopped]


def rows() -> dict[str, int]:
    found = dict[str, int]()
    for name, urls, pick in (
        ("balanced", BALANCED, Pick.RANDOM),
        ("alternating", ALTERNATING, Pick.ALTERNATING),
    ):
        with (
            world() as where,
            rented(urlsplit(where.chain.anvil.url).port or 0, urls, pick) as urls_,
        ):
            waited = waits(where, urls_)
        found[f"stop_p99_blocks_{name}"] = -1 if waited is None else p99(waited)
        print(f"{name}: stopped {waited and sorted(set(waited))} blocks later", flush=True)
    return found


if __name__ == "__main__":
    print(json.dumps(rows()))
