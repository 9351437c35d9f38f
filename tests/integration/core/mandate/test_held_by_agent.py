"""The mandates that an agent's own status is made of."""

from datetime import datetime, timedelta

from sqlalchemy import update

from core.db.engine import Database, WriteSession
from core.mandate.queries import held_by_agent
from core.mandate.tables import Mandate
from tests.integration.core.rows import NOW, add_account, add_mandate


def add(
    session: WriteSession, agent_id: int, name: str, status: str, ended_at: datetime | None = None
) -> None:
    mandate_id = add_mandate(session, f"m_{name}")
    values = {"agent_id": agent_id, "status": status, "ended_at": ended_at}
    session.execute(update(Mandate).where(Mandate.id == mandate_id).values(values))


def test_an_agent__holds_what_names_it_and_is_signed_or_ended__the_newest_first(
    database: Database,
) -> None:
    with database.write() as session:
        agent, other = add_account(session, "agent"), add_account(session, "agent")
        for status in ("draft", "signed", "working", "stopped", "settled", "cancelled"):
            add(session, agent, status, status, NOW)
        add(session, other, "other", "working")
        proposed = update(Mandate).where(Mandate.public_id == "m_other")
        session.execute(proposed.values(proposed_by_agent_id=agent))
    with database.read() as session:
        found = held_by_agent(session, agent, 10, 10)
    assert [(one.public_id, one.status, one.market_mode) for one in found] == [
        ("m_settled", "settled", "testnet"),
        ("m_stopped", "stopped", "testnet"),
        ("m_working", "working", "testnet"),
        ("m_signed", "signed", "testnet"),
    ]


def test_of_many__the_newest_and_those_that_ended_last_are_given(database: Database) -> None:
    with database.write() as session:
        agent = add_account(session, "agent")
        for number in range(3):
            add(session, agent, f"active_{number}", "working")
            add(session, agent, f"ended_{number}", "settled", NOW - timedelta(days=number))
    with database.read() as session:
        found = {one.public_id for one in held_by_agent(session, agent, 2, 1)}
    assert found == {"m_active_2", "m_active_1", "m_ended_0"}
