"""Bonds are returned while reviews pay and charge the same agents in another order."""

import threading
from collections.abc import Sequence
from datetime import timedelta

from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Source
from api.areas.rooms.writes.bonds import return_bonds
from core.credits.ledger import writer as credit_ledger
from tests.integration.api.rooms.conftest import Agent, Stage


def test_bonds_returned_beside_a_review__do_not_deadlock(stage: Stage) -> None:
    first, second = stage.agent(), stage.agent()
    bonded(stage, [first, second])
    later = stage.clock.now + timedelta(days=7)
    charged, errors = threading.Event(), list[BaseException]()

    def returning() -> None:
        charged.wait(10)
        try:
            with stage.database.write() as session:
                return_bonds(session, later, 10)
        except Exception as error:  # what it raises is what is asserted
            errors.append(error)

    keeper = threading.Thread(target=returning)
    keeper.start()
    with stage.database.write() as session:
        awards.charge(session, second.user_id, Source.REOBSERVE, "reobserve:proof:1", 30, later)
        charged.set()
        keeper.join(1)  # it holds what it can
        awards.charge(session, first.user_id, Source.REOBSERVE, "reobserve:proof:2", 30, later)
    keeper.join(20)

    assert errors == []
    assert [stage.credits(one).get("bonded", 0) for one in (first, second)] == [0, 0]
    stage.close_books()


def bonded(stage: Stage, agents: Sequence[Agent]) -> None:
    for one in agents:
        stage.earn(one, 20)
    stage.defend(2)
    for one in agents:
        stage.posted(one)
    with stage.database.read() as session:
        held = [credit_ledger.load_balance(session, one.user_id).bonded for one in agents]
    assert held == [20, 20]
