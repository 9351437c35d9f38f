"""What the removal of many agents asks of two nodes.

No socket is opened, and no database: each worth is known.
"""

from typing import cast

import pytest

from core.db.engine import Database
from core.money import UnixSeconds
from keeper.last_resort import AGAIN_S, FALLEN_S, MOST_A_TICK, REFUSED_S, LastResort
from keeper.witness import VAULTS_A_PART
from tests.unit.keeper.readings import FLOOR, HEAD, NOW, reading, state
from tests.unit.keeper.test_witness import Pool

NO_DATABASE = cast("Database", None)
MANY = 3 * MOST_A_TICK


def look(last: LastResort, pool: Pool, after_s: float, vaults: int = MANY) -> list[int]:
    """How many removals each part plans, when all have fallen."""
    pool.now += after_s
    pool.observer.heads.set_clock(HEAD.at)  # the nodes get on meanwhile
    readings = [reading(FLOOR, vault=f"0x{n:040x}") for n in range(vaults)]
    pool.observer.floors.tell({one.vault: FLOOR for one in readings})
    return [len(part) for part in last.plan(state(*readings), UnixSeconds(NOW))]


def begun(pool: Pool) -> LastResort:
    """It saw them fall long ago."""
    last = LastResort(NO_DATABASE, 84532, pool.observer.witnesses, lambda: pool.now)
    assert look(last, pool, 0) == look(last, pool, FALLEN_S / 2) == []
    return last


def test_many_agents_at_once__are_removed_in_parts_by_few_requests() -> None:
    pool = Pool(calls_per_s=10_000.0, a=FLOOR, b=FLOOR)
    last = begun(pool)
    assert look(last, pool, FALLEN_S / 2) == [VAULTS_A_PART] * (MOST_A_TICK // VAULTS_A_PART)
    assert pool.requests <= 4 * MOST_A_TICK // VAULTS_A_PART
    assert sum(look(last, pool, 1)) == sum(look(last, pool, 1)) == MOST_A_TICK, "then the next"
    assert look(last, pool, 1) == []
    assert last._not_before


def test_where_the_nodes_do_not_agree__they_are_not_asked_again_at_once() -> None:
    pool = Pool(a=FLOOR, b=FLOOR + 1)
    last = begun(pool)
    assert look(last, pool, FALLEN_S / 2, vaults=VAULTS_A_PART) == [0]
    asked = pool.requests
    assert look(last, pool, 1, vaults=VAULTS_A_PART) == []
    assert pool.requests == asked
    assert look(last, pool, REFUSED_S, vaults=VAULTS_A_PART) == [0]


@pytest.mark.parametrize("worth", [FLOOR, FLOOR + 1])
def test_what_was_asked_about__is_forgotten_in_time(worth: int) -> None:
    pool = Pool(a=FLOOR, b=worth)
    last = begun(pool)
    look(last, pool, FALLEN_S / 2)
    for _ in range(AGAIN_S // 30):
        look(last, pool, 30, vaults=0)
    assert last._not_before == {}


def test_one_of_three_speaks_against_it__the_agents_are_removed() -> None:
    pool = Pool("abc", a=FLOOR, b=FLOOR + 1, c=FLOOR)
    last = begun(pool)
    assert look(last, pool, FALLEN_S / 2, vaults=1) == [1]
