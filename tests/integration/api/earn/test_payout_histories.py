"""Random histories of awards, charges, debts of groups, late evidence, reversals, drains and midnights in
Postgres: after each step the ledgers are what the model says, and add up.

`HYPOTHESIS_PROFILE=deep` looks at 500 histories, otherwise 100 are.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import func, select

from api.areas.earn import queries
from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Source
from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.tables import EarnAward, EarnFeedRow, EarnQueue
from api.areas.earn.views import payouts, people
from api.areas.earn.views.payouts import Earnings
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import BUCKETS
from core.db.engine import Database, WriteSession
from tests.integration.api.earn.people import add_people, fund
from tests.integration.core.rows import NOW
from tests.payouts import FUNDERS, STEPS, TIGHT, Step, World

EXAMPLES = max(100, settings().max_examples // 4)


@contextmanager
def undone(database: Database) -> Iterator[WriteSession]:
    with WriteSession(database.engine, expire_on_commit=False) as session:
        yield session
        session.rollback()


def take(session: WriteSession, step: Step, world: World, place: int, now: datetime) -> None:
    """The step as the model takes it next, by the ledger. `place`: of the step in its history."""
    account_id, ref = world.account_of(step), f"award {step.ref}"
    match step.kind:
        case "award" | "room" | "resting":
            source = Source.ROOM if step.kind == "room" else Source.MINING
            rests_on = world.rests_on(step) if step.kind == "resting" else ()
            if rests_on is not None:
                awards.award(session, account_id, source, ref, step.tenths, TIGHT, now, rests_on)
        case "fund":
            for one in world.to_fund(step):
                fund(session, one, FUNDERS[step.tenths % len(FUNDERS)], one)
        case "convert":
            debtor, amount = world.to_convert(step), step.tenths * 4
            credit_ledger.convert(session, debtor, amount, f"convert {place}", {}, now)
        case "charge" | "wrong":
            source, ref = Source.REOBSERVE, f"{step.kind} {step.ref}"
            own = step.kind == "charge"
            awards.charge(session, account_id, source, ref, step.tenths, now, is_of_group=not own)
        case "reverse":
            ref = f"{('award', 'award', 'charge')[step.tenths % 3]} {step.ref}"
            awards.reverse(session, ref, "a test", now)
        case "drain":
            awards.drain(session, TIGHT, now)


def feed_sums(session: WriteSession) -> dict[str, int]:
    query = select(EarnFeedRow.kind, func.sum(EarnFeedRow.credits)).group_by(EarnFeedRow.kind)
    return defaultdict(int, {kind: int(total or 0) for kind, total in session.execute(query)})


def faults(session: WriteSession, world: World, now: datetime) -> Iterator[str]:
    """Where Postgres is not what the model says, or does not add up."""
    yield from faults_of_accounts(session, world)
    yield from faults_of_sums(session)
    rows = session.scalars(select(EarnQueue).order_by(EarnQueue.award_id)).all()
    left = [row.left_credits for row in rows]
    if left != [item.left for item, _ in world.queue.values()]:
        yield f"the queue is {left}"
    if queries.totals(session) != (len(rows), sum(left)):
        yield f"the queue's totals are {queries.totals(session)}"
    used = queries.used_on(session, now.date(), [*world.used[world.day], queries.RESTORED])
    restored = used.pop(queries.RESTORED, 0)
    if used != {name: paid for name, paid in world.used[world.day].items() if paid}:
        yield f"the day's counts are {used}"
    if restored != world.restored[world.day]:
        yield f"{restored} were restored today"


def faults_of_accounts(session: WriteSession, world: World) -> Iterator[str]:
    for account_id in world.payees:
        held = credit_ledger.load_balance(session, account_id)
        if (held.earned, held.owed) != (world.earned[account_id], world.owed[account_id]):
            yield f"{account_id} has {held}, not {world.earned[account_id]} earned"
        if min(getattr(held, bucket) for bucket in BUCKETS) < 0:
            yield f"{account_id}: a bucket is below zero"
        yield from credit_ledger.verify(session, account_id)


def faults_of_sums(session: WriteSession) -> Iterator[str]:
    balance, sums = credit_ledger.trial_balance(session), feed_sums(session)
    if sum(balance.values()) != 0:
        yield f"the accounts sum to {sum(balance.values())}"
    if sums[FeedKind.PAID] + sums[FeedKind.REPAID] != -balance.get("service:issuance", 0):
        yield "the feed's payments are not what the credit ledger issued"
    if sums[FeedKind.DEBT] - sums[FeedKind.RESTORED] != balance.get("service:penalties", 0):
        yield "the feed's debts are not the credit ledger's"
    approved = session.scalar(select(func.sum(EarnAward.credits)).where(EarnAward.kind == "award"))
    gone = sums[FeedKind.PAID] + sums[FeedKind.REPAID] + sums[FeedKind.WITHDRAWN]
    if (approved or 0) - gone != queries.totals(session)[1]:
        yield f"{approved} were approved, {gone} left the queue, and {queries.totals(session)} wait"


def faults_of_answers(session: WriteSession, world: World) -> Iterator[str]:
    """What accounts are answered about their own payouts."""
    if people.payees_of(session, world.payees) != world.payees:
        yield "they are other people"
    found = payouts.earnings_of(session, world.payees)
    for account_id in world.payees:
        mine = [one for one in world.made.items() if one[1].account == account_id]
        awarded = {ref: made for ref, made in mine if not made.is_charge}
        stand = [made for made in awarded.values() if not made.is_reversed]
        waits = [item.left for item, _ in world.queue.values() if item.account_id == account_id]
        credits_ = sum(made.credits - made.cancelled for made in stand)
        tenths = sum(made.credits for made in stand) // 2
        if found[account_id] != Earnings(tenths, credits_, len(waits), sum(waits)):
            yield f"{account_id} is told {found[account_id]}"
        shown = payouts.payouts_before(session, [account_id], None, 100, queued_only=False)
        said = {one.award.ref: (one.paid_credits, one.cancelled_credits) for one in shown}
        if said != {ref: (one.repaid + one.paid, one.cancelled) for ref, one in awarded.items()}:
            yield f"{account_id} is shown {said}"
        repaid = {ref: one.repaid for ref, one in awarded.items() if one.repaid}
        if payouts.repaid_of(session, list(awarded)) != repaid:
            yield f"{account_id} is not told that it repaid {repaid}"
    if payouts.owed_by_groups(session, world.payees) != world.owed_by_groups():
        yield f"groups owe {world.owed_by_groups()}"


@pytest.mark.slow
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_any_history__is_the_models_and_adds_up(database: Database, history: list[Step]) -> None:
    with undone(database) as session:
        accounts = add_people(session)
        world = World(people.payees_of(session, accounts), TIGHT)
        for place, step in enumerate(history):
            take(session, step, world, place, NOW + timedelta(days=world.day))
            world.take(step)
            now = NOW + timedelta(days=world.day)
            assert [*world.faults(), *faults(session, world, now)] == []
        assert list(faults_of_answers(session, world)) == []
