"""Random histories of several accounts through the ledger in Postgres: it adds up after each,
whatever was refused on the way.

`HYPOTHESIS_PROFILE=deep` looks at 2,000 histories.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import BUCKETS, Credits, NotEnoughCreditsError
from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError
from tests.integration.core.rows import NOW, add_account

ACCOUNTS = 3
KINDS = ("welcome", "spend", "earn", "convert", "owe", "hold", "release")


@dataclass(frozen=True)
class Step:
    """`key` repeats now and then, as a retried call's does."""

    account: int
    kind: str
    amount: int
    key: int


STEPS = st.builds(
    Step,
    st.integers(0, ACCOUNTS - 1),
    st.sampled_from(KINDS),
    st.integers(1, 25),
    st.integers(0, 8),
)


@contextmanager
def undone(database: Database) -> Iterator[WriteSession]:
    with WriteSession(database.engine, expire_on_commit=False) as session:
        yield session
        session.rollback()


def take(session: WriteSession, account: int, step: Step) -> bool:
    """Whether it was posted; False: it was refused, or stood already."""
    key = f"{step.kind} {step.key}"
    try:
        match step.kind:
            case "welcome":
                return credit_ledger.grant_welcome(session, account, 10, NOW).is_new
            case "release":
                held = credit_ledger.load_balance(session, account).bonded
                return (
                    held > 0
                    and credit_ledger.release(session, account, f"hold {step.key}", NOW).is_new
                )
            case kind:
                return getattr(credit_ledger, kind)(
                    session, account, step.amount, key, {}, NOW
                ).is_new
    except (NotEnoughCreditsError, InvalidParameterError):
        return False


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=25))
def test_any_history__adds_up(database: Database, history: list[Step]) -> None:
    with undone(database) as session:
        accounts = [add_account(session, "agent") for _ in range(ACCOUNTS)]
        for step in history:
            before = credit_ledger.load_balance(session, accounts[step.account])
            posted = take(session, accounts[step.account], step)
            after = credit_ledger.load_balance(session, accounts[step.account])
            assert posted == (after != before)
            assert min(getattr(after, bucket) for bucket in BUCKETS) >= 0
        assert [credit_ledger.verify(session, account) for account in accounts] == [[]] * ACCOUNTS
        balances = [credit_ledger.load_balance(session, account) for account in accounts]
        sums = credit_ledger.trial_balance(session)
        assert sum(sums.values()) == 0
        assert {
            bucket: sum(getattr(one, bucket) for one in balances)
            for bucket in BUCKETS
            if bucket != "owed"
        } == {bucket: sums[f"accounts:{bucket}"] for bucket in BUCKETS if bucket != "owed"}


@pytest.mark.parametrize("kind", ["spend", "hold"])
def test_a_refused_move__writes_nothing(database: Database, kind: str) -> None:
    with undone(database) as session:
        account = add_account(session, "agent")
        credit_ledger.earn(session, account, 5, "earn", {}, NOW)
        assert not take(session, account, Step(0, kind, 6, 1))
        assert credit_ledger.load_balance(session, account) == Credits(earned=5)
        assert credit_ledger.verify(session, account) == []
