"""Awards, charges, reversals and the drain in Postgres (docs/payouts.md)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import func, select

from api.areas.earn import jobs as earn_jobs
from api.areas.earn import queries
from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Awarded, Reversed, Source
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.tables import EarnAward, EarnFeedRow
from api.areas.earn.views import standing
from api.areas.earn.views.payouts import payouts_before, waiting_of
from api.areas.earn.views.people import own_among, payees_of
from api.areas.earn.writes import feed
from core.credits.ledger import batch
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.batch import NewPosting
from core.credits.ledger.writer import CreditOverdraftError
from core.credits.rules.buckets import Credits
from core.db.engine import Database, WriteSession
from core.identity.tables import Account
from core.limits import CallerLimits
from tests.integration.api.earn.people import ENOUGH_TO_FUND_E6, add_agent, add_owner, fund
from tests.integration.core.rows import NOW

LIMITS = PayoutLimits()
TOMORROW = NOW + timedelta(days=1)


def give(
    session: WriteSession,
    account_id: int,
    ref: str,
    tenths: int,
    limits: PayoutLimits = LIMITS,
    source: Source = Source.MINING,
) -> Awarded:
    return awards.award(session, account_id, source, ref, tenths, limits, NOW)


def kinds(session: WriteSession, ref: str) -> list[tuple[str, int | None]]:
    return [(row.kind, row.credits) for row in feed.rows_of(session, ref, 10)]


# Awards


def test_award__behind_a_long_queue__looks_once_and_waits_behind_it(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awards, "LEAST_A_LOOK", 2)
    monkeypatch.setattr(awards, "MOST_A_LOOK", 2)
    flooder, other = add_agent(write), add_agent(write, "192.0.2.3")
    for number in range(25):  # of these 20 are paid today, and five wait
        give(write, flooder, f"room:message:{number}:author", 5)
    assert queries.totals(write) == (5, 50)
    made = awards.award(write, other, Source.MINING, "mining:entry:1", 15, LIMITS, TOMORROW)
    assert (made.paid_credits, made.queued_credits) == (0, 30)
    assert queries.totals(write) == (4, 60)  # two were paid, and its own came

    assert awards.drain(write, LIMITS, TOMORROW).paid_credits == 60
    assert queries.totals(write) == (0, 0)
    order = [row.ref for row in reversed(feed.rows_before(write, None, 6, feed.FeedKind.PAID))]
    assert order[-1] == "mining:entry:1"


def test_award__behind_a_long_queue__repays_its_debt_at_once(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awards, "LEAST_A_LOOK", 1)
    monkeypatch.setattr(awards, "MOST_A_LOOK", 1)
    flooder, other = add_agent(write), add_agent(write, "192.0.2.3")
    give(write, flooder, "mining:entry:1", 130)
    give(write, flooder, "mining:entry:2", 10)
    awards.charge(write, other, Source.REOBSERVE, "reobserve:proof:1", 10, NOW)
    made = awards.award(write, other, Source.MINING, "mining:entry:3", 30, LIMITS, TOMORROW)
    assert (made.repaid_credits, made.paid_credits, made.queued_credits) == (20, 0, 40)


def test_award__within_the_caps__is_paid_at_once(write: WriteSession) -> None:
    account = add_agent(write)
    made = give(write, account, "mining:entry:1", 15)
    assert (made.credits, made.repaid_credits, made.paid_credits, made.queued_credits) == (
        30,
        0,
        30,
        0,
    )
    assert credit_ledger.load_balance(write, account) == Credits(earned=30)
    assert kinds(write, "mining:entry:1") == [("paid", 30)]
    assert credit_ledger.verify(write, account) == []


def test_award__again__is_the_first_answer_and_moves_nothing(write: WriteSession) -> None:
    account = add_agent(write)
    first = give(write, account, "mining:entry:1", 15)
    assert give(write, account, "mining:entry:1", 400) == first
    assert credit_ledger.load_balance(write, account) == Credits(earned=30)


def test_award__above_a_new_accounts_cap__queues_the_rest(write: WriteSession) -> None:
    account = add_agent(write)
    made = give(write, account, "mining:entry:1", 130)
    assert (made.paid_credits, made.queued_credits) == (200, 60)
    assert queries.totals(write) == (1, 60)
    assert not awards.drain(write, LIMITS, NOW).paid_credits
    assert awards.drain(write, LIMITS, TOMORROW).paid_credits == 60
    assert queries.totals(write) == (0, 0)
    assert kinds(write, "mining:entry:1") == [("paid", 200), ("paid", 60)]


def test_awards__of_agents_of_one_funding_wallet__share_a_persons_cap(write: WriteSession) -> None:
    many = [add_agent(write, f"192.0.2.{n}", has_standing=True) for n in range(3)]
    limits = PayoutLimits(person=100)
    for one in many[:2]:
        fund(write, one, "0x" + "0F" * 20)
    paid = [give(write, one, f"a{one}", 30, limits).paid_credits for one in many]
    assert paid == [60, 40, 60]


def test_dust__makes_nobody_a_funder(write: WriteSession) -> None:
    """A stranger could put others under one cap, which its own agents use up."""
    many = [add_agent(write, f"192.0.2.{n}", has_standing=True) for n in range(3)]
    stranger, own = "0x" + "0f" * 20, "0x" + "0a" * 20
    for one in many[:2]:
        fund(write, one, stranger, 1, ENOUGH_TO_FUND_E6 - 1)
    fund(write, many[1], own, 2)
    funders = {one: payee.funder for one, payee in payees_of(write, many).items()}
    assert funders == {many[0]: None, many[1]: own, many[2]: None}


def test_the_first_of_two_funders__counts(write: WriteSession) -> None:
    agent, first = add_agent(write), "0x" + "0a" * 20
    fund(write, agent, first, 1)
    fund(write, agent, "0x" + "0f" * 20, 2)
    assert payees_of(write, [agent])[agent].funder == first


# Standing


def test_standing__after_three_claims__lifts_the_cap_of_a_new_account_today(
    write: WriteSession,
) -> None:
    account = add_agent(write)
    give(write, account, "mining:entry:1", 130)
    for number in range(3):
        assert not standing.has_standing(write, account)
        standing.note_verified_claims(write, {f"task:claim:{number}": account}, NOW)
        standing.note_verified_claims(write, {f"task:claim:{number}": account}, NOW)
    assert standing.has_standing(write, account)
    assert awards.drain(write, LIMITS, NOW).paid_credits == 60


def test_standing__with_a_claim_taken_back__is_gone_once(write: WriteSession) -> None:
    account = add_agent(write, has_standing=True)
    for _ in range(2):
        standing.take_back_verified_claims(write, [f"test:{account}:0"], NOW)
    assert standing.verified_claims(write, [account, 5]) == {account: 2, 5: 0}


def test_contribution__is_an_approved_submission_that_stands(write: WriteSession) -> None:
    account = add_agent(write)
    give(write, account, "task:claim:1", 30, source=Source.TASK)
    assert not standing.has_contribution(write, account)
    give(write, account, "mining:entry:1", 30)
    assert standing.has_contribution(write, account)
    awards.reverse(write, "mining:entry:1", "copied", NOW)
    assert not standing.has_contribution(write, account)


# Reversals


def test_reverse__of_an_award_in_part_paid__takes_the_rest_out_and_owes_what_was_paid(
    write: WriteSession,
) -> None:
    account = add_agent(write)
    made = give(write, account, "mining:entry:1", 130)
    found = awards.reverse(write, "mining:entry:1", "copied", NOW)
    assert found == Reversed(made.award_id, 60, 200, 0)
    assert awards.reverse(write, "mining:entry:1", "again", NOW) == found
    assert credit_ledger.load_balance(write, account) == Credits(earned=200, owed=200)
    assert queries.totals(write) == (0, 0)
    assert kinds(write, "mining:entry:1") == [("paid", 200), ("withdrawn", 60), ("debt", 200)]


def test_reverse__of_a_charge__restores_it_outside_the_budget(write: WriteSession) -> None:
    account = add_agent(write)
    awards.charge(write, account, Source.REOBSERVE, "reobserve:proof:7", 30, NOW)
    give(write, account, "mining:entry:1", 20)
    awards.reverse(write, "reobserve:proof:7", "the value was right", NOW)
    assert credit_ledger.load_balance(write, account) == Credits(earned=40)
    used = queries.used_on(write, NOW.date(), ["budget", queries.RESTORED])
    assert used == {queries.RESTORED: 60}
    assert credit_ledger.trial_balance(write)["service:penalties"] == 0


def test_reverse__of_what_there_is_not__is_none(write: WriteSession) -> None:
    assert awards.reverse(write, "mining:entry:404", "x", NOW) is None


# The drain


def test_drain__looks_at_an_item_that_a_cap_stopped_once_a_day(write: WriteSession) -> None:
    account = add_agent(write)
    give(write, account, "a", 150)
    assert queries.due_items(write, NOW.date(), 10) == []
    assert [one.item.left for one in queries.due_items(write, TOMORROW.date(), 10)] == [100]


def test_due_items__of_several_days__come_in_the_order_of_approvals(write: WriteSession) -> None:
    none = PayoutLimits(day_budget=0)
    account, other = add_agent(write), add_agent(write, "192.0.2.2")
    give(write, account, "a", 150)  # waits for tomorrow
    give(write, other, "b", 30, none)
    give(write, account, "c", 30, none)
    found = queries.due_items(write, TOMORROW.date(), 10)
    assert [one.ref for one in found] == ["a", "b", "c"]
    assert [one.ref for one in queries.due_items(write, TOMORROW.date(), 2)] == ["a", "b"]


# Two at once


def test_awards__of_two_at_once__keep_the_caps_and_both_chains(database: Database) -> None:
    with database.write() as session:
        accounts = [add_agent(session) for _ in range(2)]

    def work(number: int) -> None:
        for step in range(20):
            with database.write() as session:
                give(session, accounts[number], f"{number}:{step}", 9)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    with database.write() as session:
        held = [credit_ledger.load_balance(session, one).earned for one in accounts]
        assert held == [200, 200]
        assert queries.totals(session)[1] == 2 * (20 * 18 - 200)
        assert [credit_ledger.verify(session, one) for one in accounts] == [[], []]


def test_award__of_one_ref_at_once__is_made_once(database: Database) -> None:
    with database.write() as session:
        account = add_agent(session)

    def work(number: int) -> Awarded:
        with database.write() as session:
            return give(session, account, "mining:entry:1", 15)

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(work, range(8)))
    assert len(made) == 1
    with database.write() as session:
        assert session.scalar(select(func.count()).select_from(EarnAward)) == 1
        assert credit_ledger.load_balance(session, account).earned == 30


@pytest.mark.slow
def test_drain_and_spends_at_once__do_not_wait_for_one_another_for_ever(
    database: Database,
) -> None:
    with database.write() as session:
        accounts = [add_agent(session, f"192.0.2.{n}") for n in range(10)]
        for account in accounts:
            credit_ledger.convert(session, account, 1_000, "bought", {}, NOW)
            for step in range(10):
                give(session, account, f"{account}:{step}", 5, PayoutLimits(day_budget=0))

    def spend(number: int) -> None:
        for step in range(20):
            with database.write() as session:
                account = accounts[(number * 3 + step) % 10]
                credit_ledger.spend(session, account, 1, f"{number}:{step}", {}, NOW)

    def drain(number: int) -> None:
        for budget in range(100, 1_100, 100):
            with database.write() as session:
                awards.drain(session, PayoutLimits(day_budget=budget), NOW)

    with ThreadPoolExecutor(5) as pool:
        spends = [pool.submit(spend, number) for number in range(3)]
        drains = [pool.submit(drain, number) for number in range(2)]
        for done in (*spends, *drains):
            done.result(timeout=60)
    with database.write() as session:
        balance = credit_ledger.trial_balance(session)
        assert balance["service:issuance"] == -1_000
        assert balance["service:sales"] == 60
        assert [fault for one in accounts for fault in credit_ledger.verify(session, one)] == []


# Many postings at once


def test_post_all__writes_what_post_writes(write: WriteSession) -> None:
    one, other = add_agent(write), add_agent(write)
    credit_ledger.convert(write, one, 50, "bought", {}, NOW)
    heads = batch.hold(write, [other, one], NOW)
    new = [
        NewPosting(
            account_id=account,
            kind=credit_ledger.EARN,
            base_key=key,
            deltas=Credits(earned=7),
            counter=credit_ledger.ISSUANCE,
            payload={"for": key},
        )
        for account, key in ((one, "a"), (other, "a"), (one, "b"), (one, "a"))
    ]
    assert batch.post_all(write, heads, new, NOW) == {(one, "a"), (other, "a"), (one, "b")}
    assert batch.post_all(write, heads, new, NOW) == set()
    assert credit_ledger.load_balance(write, one) == Credits(earned=14, converted=50)
    assert credit_ledger.earn(write, one, 1, "c", {}, NOW).seq == 4
    assert [credit_ledger.verify(write, account) for account in (one, other)] == [[], []]


def test_post_all__past_what_an_account_has__writes_nothing(write: WriteSession) -> None:
    one = add_agent(write)
    heads = batch.hold(write, [one], NOW)
    spent = NewPosting(
        account_id=one,
        kind=credit_ledger.SPEND,
        base_key="a",
        deltas=Credits(earned=-1),
        counter=credit_ledger.SALES,
        payload={},
    )
    with pytest.raises(CreditOverdraftError):
        batch.post_all(write, heads, [spent], NOW)
    assert credit_ledger.load_balance(write, one) == Credits()


def test_feed__pages_by_kind_and_account(write: WriteSession) -> None:
    one, other = add_agent(write), add_agent(write, "192.0.2.2")
    for account, ref in ((one, "a"), (other, "b"), (one, "c")):
        give(write, account, ref, 5)
    newest = feed.rows_before(write, None, 2)
    assert [row.ref for row in newest] == ["c", "b"]
    assert [row.ref for row in feed.rows_before(write, newest[-1].id, 2)] == ["a"]
    assert [row.ref for row in feed.rows_before(write, None, 9, account_id=one)] == ["c", "a"]
    assert feed.rows_before(write, None, 9, kind=feed.FeedKind.DEBT) == []
    assert write.scalar(select(func.count()).select_from(EarnFeedRow)) == 3


# The slow job


def test_the_slow_job__pays_after_midnight_what_waited(database: Database) -> None:
    with database.write() as session:
        account = add_agent(session)
        give(session, account, "mining:entry:1", 130)
    place: Any = SimpleNamespace(database=database, limits=CallerLimits())
    (job,) = earn_jobs.JOBS
    assert job.run(place, NOW) == {"items": 0, "paid_credits": 0}
    assert job.run(place, TOMORROW) == {"items": 1, "paid_credits": 60}
    with database.write() as session:
        assert credit_ledger.load_balance(session, account) == Credits(earned=260)


def test_a_charge__is_owed_whole(write: WriteSession) -> None:
    account = add_agent(write)
    awards.charge(write, account, Source.REOBSERVE, "reobserve:proof:7", 30, NOW)
    made = queries.award_of(write, "reobserve:proof:7")
    assert made is not None
    assert (made.credits, made.repaid_credits, made.paid_credits, made.queued_credits) == (
        60,
        0,
        0,
        0,
    )


def test_what_waits_before_a_room_award__counts_under_the_rooms_caps_if_it_is_of_rooms(
    write: WriteSession,
) -> None:
    limits, account = PayoutLimits(rooms_person=20), add_agent(write)
    give(write, account, "mining:entry:1", 100, limits)  # the day's 200 of a new account
    give(write, account, "mining:entry:2", 90, limits)
    give(write, account, "room:message:1:author", 5, limits, Source.ROOM)
    page = payouts_before(write, [account], None, 1, queued_only=True)
    (waiting,) = waiting_of(write, page, limits, NOW.date()).values()
    assert waiting.earliest == TOMORROW.date()


def test_own_work__is_of_agents_that_the_wallet_owns_or_funded(write: WriteSession) -> None:
    operator, other = add_owner(write), add_owner(write)
    wallet = "0x" + "0F" * 20
    write.get_one(Account, operator).wallet_address = bytes.fromhex(wallet[2:])
    owned, of_other, funded, stranger = (
        add_agent(write, owner_id=operator),
        add_agent(write, owner_id=other),
        add_agent(write),
        add_agent(write),
    )
    fund(write, funded, wallet)
    fund(write, stranger, "0x" + "0a" * 20, 2)
    of_second, later = add_agent(write, owner_id=other), add_agent(write)
    fund(write, of_second, wallet)  # that a second wallet of the operator's owns
    fund(write, later, "0x" + "0a" * 20)
    fund(write, later, wallet, 2)
    asked = [operator, owned, of_other, funded, stranger, of_second, later]
    own = {operator, owned, funded, of_second, later}
    assert own_among(write, operator, asked) == own
    # a wallet that is not known funds nobody
    assert own_among(write, other, asked) == {of_other, of_second}
