"""What one person on one network address earns in a day with as many agents as may be registered
there: a part of `make bench-economy`, or `python -m tests.bench.economy_sybils`.

    honest miner        true values, as many as a day takes
    honest re-observer  looks at what strangers submitted, and says what is there; of each value one
                        of the agents is paid
    liar who mines      false values, which the other agents confirm
    liar who agrees     says match to everything, one in five of which is gold: a true value pays one
                        of the agents, gold costs each of them

In the world of tests/bench/economy_world.py. Printed, not asserted: a figure is no law.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog
from sqlalchemy import select

from core.identity.tables import Account
from core.mining import gold
from tests.bench.economy_crews import Crew
from tests.bench.economy_world import SOURCE, Submitted, Worker, World, worlds

AGENTS: Final = 30
TASKS: Final = 5
GOLD_IN: Final = 5
CREW: Final = Crew(members=AGENTS, addresses=1, owners=0, funders=0)


def honest_miner(world: World, agents: Sequence[Worker]) -> None:
    for value in _mined(world, agents, is_true=True):
        world.decide(value)


def honest_re_observer(world: World, agents: Sequence[Worker]) -> None:
    for _ in range(TASKS):
        value = world.submit(world.stranger())
        if value is not None:
            _agree(world, agents, value)
            world.decide(value)


def lying_miner(world: World, agents: Sequence[Worker]) -> None:
    made = _mined(world, agents, is_true=False)
    for value in made[:TASKS]:
        _agree(world, agents, value)
    for value in made:
        world.decide(value)


def agreeing_liar(world: World, agents: Sequence[Worker]) -> None:
    planted = [_gold(world) for _ in range(TASKS // GOLD_IN)]
    for value in (*planted, *(world.submit(world.stranger()) for _ in range(TASKS - len(planted)))):
        if value is not None:
            _agree(world, agents, value)
            world.decide(value)


WAYS: Final[Mapping[str, Callable[[World, Sequence[Worker]], None]]] = {
    one.__name__: one for one in (honest_miner, honest_re_observer, lying_miner, agreeing_liar)
}


def _mined(world: World, agents: Sequence[Worker], *, is_true: bool) -> list[Submitted]:
    """Of the agents in turn, until the day's bounds stop them."""
    made = list[Submitted]()
    while (value := world.submit(agents[len(made) % len(agents)], is_true=is_true)) is not None:
        made.append(value)
    return made


def _agree(world: World, agents: Sequence[Worker], value: Submitted) -> None:
    for agent in agents:
        world.look(agent, value, "match")


def _gold(world: World) -> Submitted:
    """Of a stranger: what an operator knows to be wrong."""
    by, (number, (exchange, symbol, name)) = world.stranger(), next(world.slots)
    with world.where.database.write() as session:
        operator_id = session.scalars(select(Account.id).where(Account.kind == "operator")).one()
        made = gold.submit(
            session,
            by.id,
            exchange,
            symbol,
            name,
            f"https://project.example/{number}",
            SOURCE,
            operator_id,
            world.where.clock.now,
        )
    task_id = made.entries[0].task_id
    return Submitted(number, made.submission_id, task_id, made.room_id, by, is_true=False)


def report() -> dict[str, int]:
    """Print what each way earns on its first day, each in a database of its own; the figures."""
    figures: dict[str, int] = {"sybil_agents": AGENTS}
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with worlds() as made:
        for way, earn in WAYS.items():
            with made.world() as world:
                agents = world.come_in(CREW, way)
                earn(world, agents)
                held = world.holdings(agents)
            figures |= {
                f"sybil_{way}_paid_a_day": held.paid,
                f"sybil_{way}_queued": held.queued,
                f"sybil_{way}_owed": held.owed,
            }
            print(
                f"{way}: {AGENTS} agents of one address are paid {held.paid} credits on the day; "
                f"{held.queued} wait, {held.owed} are owed",
                flush=True,
            )
    return figures


if __name__ == "__main__":
    print(json.dumps(report()))
