"""What an agent's own pages show of it, in one statement."""

from datetime import timedelta

from sqlalchemy import insert, update

from api.areas.records.views.facts import OwnFacts, own_facts
from api.areas.safety.tables import ViolationCase
from core.credits.ledger.writer import HEAD
from core.credits.rules.buckets import Credits
from core.db.engine import Database, WriteSession
from core.identity.tables import Account
from core.mandate.tables import Mandate
from core.subscriptions.rules import HeldTiers
from core.subscriptions.tables import Subscription
from tests.integration.core.rows import NOW, add_account, add_mandate

HELD = {"welcome": 1, "earned": 2, "converted": 3, "bonded": 4, "owed": 5}
UNTIL = NOW + timedelta(days=30)


def facts(database: Database, account_id: int) -> OwnFacts:
    with database.read() as session:
        return own_facts(session, account_id)


def add_case(session: WriteSession, agent_id: int, rule: str, *, is_open: bool) -> None:
    case = ViolationCase(
        reference=f"v_{rule}",
        agent_id=agent_id,
        rule=rule,
        deadline_at=NOW,
        opened_at=NOW,
        opened_by=agent_id,
        closed_at=None if is_open else NOW,
        closed_by=None if is_open else agent_id,
    )
    session.add(case)
    session.flush()


def test_an_account_without_anything__has_zeros_and_is_not_locked(database: Database) -> None:
    with database.write() as session:
        agent = add_account(session, "agent")
    assert facts(database, agent) == OwnFacts(
        name="agent",
        is_owned=False,
        registered_at=NOW,
        is_locked=False,
        tiers=HeldTiers(),
        mandates={},
        balance=Credits(),
    )


def test_an_account__has_what_each_ledger_says_of_it_and_nothing_of_others(
    database: Database,
) -> None:
    with database.write() as session:
        owner = add_account(session)
        agent, other = add_account(session, "agent"), add_account(session, "agent")
        session.execute(update(Account).where(Account.id == agent).values(owner_id=owner))
        head = {"seq": 1, "row_hash": b"\x01" * 32, "updated_at": NOW}
        session.execute(insert(HEAD).values(account_id=agent, **head, **HELD))
        session.execute(insert(HEAD).values(account_id=other, **head, **dict.fromkeys(HELD, 9)))
        for until, one in ((UNTIL, agent), (NOW, other)):
            session.add(Subscription(account_id=one, tier_2_until=NOW, until=until, purchases=2))
    assert facts(database, agent) == OwnFacts(
        name="agent",
        is_owned=True,
        registered_at=NOW,
        is_locked=False,
        tiers=HeldTiers(NOW, UNTIL, 2),
        mandates={},
        balance=Credits(**HELD),
    )


def test_mandates__are_counted_by_status__in_the_order_of_their_words(database: Database) -> None:
    with database.write() as session:
        agent, other = add_account(session, "agent"), add_account(session, "agent")
        statuses = ("working", "draft", "cancelled", "working", "settled")
        for number, status in enumerate((*statuses, "stopped")):
            named = agent if number < len(statuses) else other
            mandate_id = add_mandate(session, f"m_{number}")
            values = {"agent_id": named, "status": status}
            session.execute(update(Mandate).where(Mandate.id == mandate_id).values(values))
    assert list(facts(database, agent).mandates.items()) == [
        ("cancelled", 1),
        ("draft", 1),
        ("settled", 1),
        ("working", 2),
    ]


def test_an_open_case__locks__and_a_closed_one_does_not(database: Database) -> None:
    with database.write() as session:
        agent, other = add_account(session, "agent"), add_account(session, "agent")
        add_case(session, agent, "spam", is_open=False)
        add_case(session, other, "fraud", is_open=True)
    assert not facts(database, agent).is_locked
    with database.write() as session:
        for rule in ("abuse", "theft"):
            add_case(session, agent, rule, is_open=True)
    assert facts(database, agent).is_locked
