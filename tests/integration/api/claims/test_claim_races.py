"""Many at once: the same words once, a person's day no longer than it is, one of two equals verified."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import pytest
from sqlalchemy import func, select

from api.areas.claims import queries as claims
from api.areas.claims.queries import SentClaim, TokenClaimant
from api.areas.claims.rules.claims import ClaimKind, ClaimState
from api.areas.claims.tables import KgClaim, KgClaimVerdict
from core.db.engine import Database
from core.errors import MandateError
from core.identity.tables import Account

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT_ONCE = 64


@pytest.fixture
def agent_id(database: Database) -> int:
    with database.write() as session:
        agent = Account(kind="agent", name="A", created_at=NOON)
        session.add(agent)
        session.flush()
        return agent.id


def made(database: Database, agent_id: int, person: str, said: str, most: int = 10) -> int:
    sent = SentClaim("LINK", ClaimKind.OTHER, said, "https://blog.example/post")
    with database.write() as session:
        return claims.add(
            session, TokenClaimant(agent_id, person, frozenset({person}), False), sent, most, NOON
        ).id


def outcomes(calls: list[Callable[[], object]]) -> list[bool]:
    """Whether each was done, all begun together."""

    def done(call: Callable[[], object]) -> bool:
        try:
            call()
        except MandateError:
            return False
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(done, calls))


def published(database: Database) -> int:
    with database.read() as session:
        shown = KgClaim.state != ClaimState.REJECTED.value
        return session.scalar(select(func.count()).select_from(KgClaim).where(shown)) or 0


def test_the_same_words_of_64_persons__are_one_claim(database: Database, agent_id: int) -> None:
    said = ["It has a dog.", "IT HAS A  DOG.", "It has a d\ufe0fog."]
    found = outcomes(
        [partial(made, database, agent_id, f"agent:{n}", said[n % 3]) for n in range(AT_ONCE)]
    )
    assert sum(found) == 1
    assert published(database) == 1


def test_64_claims_of_one_person_at_once__are_ten(database: Database, agent_id: int) -> None:
    found = outcomes(
        [partial(made, database, agent_id, "owner:1", f"Claim {n}.") for n in range(AT_ONCE)]
    )
    assert sum(found) == 10
    assert published(database) == 10


def test_claims_of_a_group_at_once__count_as_one_and_wait_as_one(
    database: Database, agent_id: int
) -> None:
    keys = [frozenset({f"agent:{n}", "address:203.0.113.9"}) for n in range(AT_ONCE)]

    def claimed(n: int) -> None:
        sent = SentClaim("LINK", ClaimKind.OTHER, f"Claim {n}.", "https://blog.example/post")
        with database.write() as session:
            by = TokenClaimant(agent_id, f"agent:{n}", keys[n], False)
            claims.add(session, by, sent, 10, NOON, 30)

    assert sum(outcomes([partial(claimed, n) for n in range(AT_ONCE)])) == 30
    with database.read() as session:
        whose = func.coalesce(KgClaim.counted_as, KgClaim.person)
        assert session.scalar(select(func.count(whose.distinct()))) == 1


def test_verdicts_at_once__leave_one_of_two_equal_claims_published(
    database: Database, agent_id: int
) -> None:
    def decided(claim_id: int, verdict: ClaimState) -> None:
        with database.write() as session:
            claim = claims.held(session, claim_id)
            assert claim is not None
            claims.decide(session, claim, verdict, agent_id, None, NOON)

    ids = []
    for n in range(8):
        ids.append(made(database, agent_id, f"agent:{n}", "It has a dog."))
        decided(ids[-1], ClaimState.REJECTED)
    found = outcomes([partial(decided, ids[n % 8], ClaimState.VERIFIED) for n in range(AT_ONCE)])
    assert sum(found) == 1
    assert published(database) == 1
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(KgClaimVerdict)) == 8 + 1
