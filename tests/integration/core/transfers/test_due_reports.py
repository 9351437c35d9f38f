"""In which order the deposit watcher looks at reports: by age and by amount in turns, and nobody's
many before somebody's one.
"""

from datetime import datetime, timedelta

import pytest

from core.db.engine import Database, WriteSession
from core.identity.tables import Account
from core.transfers.tables import TransferReport
from core.transfers.views import due_reports
from tests.integration.core.rows import CHAIN, NOW, add_account

A_LOOK = 100


def add_agent(
    session: WriteSession, owner_id: int | None = None, registered_from: str | None = None
) -> int:
    agent = Account(
        kind="agent",
        name="agent",
        owner_id=owner_id,
        registered_from=registered_from,
        created_at=NOW,
    )
    session.add(agent)
    session.flush()
    return agent.id


def add_report(session: WriteSession, agent: int, amount_e6: int, due_at: datetime = NOW) -> int:
    number = session.query(TransferReport).count()
    report = TransferReport(
        account_id=agent,
        chain_id=CHAIN,
        asset="USDC",
        direction="in",
        amount_e6=amount_e6,
        tx_hash=number.to_bytes(32),
        reported_by="agent",
        reported_at=NOW,
        state="reported",
        deadline_at=NOW + timedelta(hours=1),
        next_look_at=due_at,
    )
    session.add(report)
    session.flush()
    return report.id


def looked_at(session: WriteSession, limit: int = A_LOOK, now: datetime = NOW) -> list[int]:
    return [report.id for report in due_reports(session, CHAIN, now, limit)]


@pytest.mark.slow
def test_four_hundred_large_reports_of_one_owner__do_not_keep_a_small_one_of_another_waiting(
    database: Database,
) -> None:
    with database.write() as session:
        owner = add_account(session)
        for agent in [add_agent(session, owner, "203.0.113.9") for _ in range(20)]:
            for _ in range(20):
                add_report(session, agent, 10**18, NOW - timedelta(minutes=1))
        small = add_report(session, add_agent(session, None, "198.51.100.7"), 1)
        assert small in looked_at(session)[:3]


def test_agents_of_one_network_address__are_one_person_among_the_largest(
    database: Database,
) -> None:
    with database.write() as session:
        of_address = [
            add_report(
                session,
                add_agent(session, None, "203.0.113.9"),
                100 - n,
                NOW - timedelta(minutes=1),
            )
            for n in range(5)
        ]
        other = add_report(session, add_agent(session, None, "198.51.100.7"), 1)
        assert looked_at(session, 3) == [of_address[0], of_address[1], other]


def test_of_reports_due_at_once__the_larger_comes_first_by_turns_with_the_longest_due(
    database: Database,
) -> None:
    with database.write() as session:
        agents = [add_agent(session, None, f"198.51.100.{n}") for n in range(6)]
        ids = [
            add_report(session, agent, n + 1, NOW - timedelta(seconds=60 - n))
            for n, agent in enumerate(agents)
        ]
        assert looked_at(session) == [ids[0], ids[5], ids[1], ids[4], ids[2], ids[3]]


def test_the_longest_due__is_looked_at_however_large_the_others_are(database: Database) -> None:
    with database.write() as session:
        old = add_report(
            session, add_agent(session, None, "198.51.100.7"), 1, NOW - timedelta(hours=1)
        )
        for n in range(150):
            add_report(session, add_agent(session, None, f"203.0.113.{n}"), 10**18)
        assert looked_at(session)[0] == old


def test_what_is_not_due__is_left_alone(database: Database) -> None:
    with database.write() as session:
        add_report(session, add_agent(session), 10**18, NOW + timedelta(seconds=1))
        due = add_report(session, add_agent(session), 1, NOW)
        assert looked_at(session) == [due]
