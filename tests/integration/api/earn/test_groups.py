"""Groups in Postgres: who funded whom, debts that a group repays, and awards that are cancelled."""

from datetime import timedelta

from sqlalchemy import func, select, text

from api.areas.earn import queries
from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Source
from api.areas.earn.rules.groups import FUNDED_MOST
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.tables import EarnCancellation, EarnGroupDebt
from api.areas.earn.views.people import payees_of
from api.areas.earn.writes import feed
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.transfers.tables import FUNDS
from tests.integration.api.earn.people import add_agent, add_owner, fund
from tests.integration.core.rows import NOW

LIMITS, NOTHING = PayoutLimits(), PayoutLimits(day_budget=0)
TOMORROW = NOW + timedelta(days=1)
HERE, THERE = "203.0.113.1", "203.0.113.2"
WALLET = "0x" + "ab" * 20


def award(session: WriteSession, account_id: int, ref: str, limits: PayoutLimits = LIMITS) -> int:
    """Of 60 credits; what was paid of it."""
    made = awards.award(session, account_id, Source.MINING, ref, 30, limits, NOW)
    return made.paid_credits


def charge(session: WriteSession, account_id: int, tenths: int) -> None:
    ref = f"mining:entry:{account_id}:wrong"
    awards.charge(session, account_id, Source.MINING, ref, tenths, NOW, is_of_group=True)


def owed(session: WriteSession, *account_ids: int) -> list[int]:
    return [credit_ledger.load_balance(session, id_).owed for id_ in account_ids]


def left(session: WriteSession) -> list[int]:
    query = select(func.max(EarnGroupDebt.left_credits)).group_by(EarnGroupDebt.account_id)
    return list(session.scalars(query))


# Keys


def test_a_first_deposit__makes_its_sender_and_transaction_keys(write: WriteSession) -> None:
    agent = add_agent(write, "127.0.0.1", add_owner(write, "127.0.0.1"))
    fund(write, agent, WALLET.upper().replace("X", "x"), 7)
    fund(write, agent, "0x" + "cd" * 20, 8)
    keys = payees_of(write, [agent])[agent].keys
    assert {f"wallet:{WALLET}", f"funding:0x{7:064x}"} < keys
    assert len(keys) == 3  # and the owner


def test_a_wallet_that_funded_20_accounts__is_a_key__and_of_21_none(write: WriteSession) -> None:
    agents = [add_agent(write, "127.0.0.1") for _ in range(FUNDED_MOST + 1)]
    for number, agent in enumerate(agents[:-1], 1):
        fund(write, agent, WALLET, number)
        fund(write, agent, WALLET, number + 100)  # counts once
    assert payees_of(write, agents[:1])[agents[0]].funder == WALLET
    fund(write, agents[-1], WALLET, 99)
    assert payees_of(write, agents[:1])[agents[0]].keys == {f"agent:{agents[0]}"}


def test_a_transaction_that_funded_20_accounts__is_a_key__and_of_21_none(
    write: WriteSession,
) -> None:
    """Whoever sends 1 USDC from a wallet each to any number of strangers makes them no group."""
    agents = [add_agent(write, "127.0.0.1") for _ in range(FUNDED_MOST + 1)]
    for agent in agents[:-1]:
        fund(write, agent, f"0x{agent:040x}", 7)
    first = agents[0]
    both = {f"wallet:0x{first:040x}", f"funding:0x{7:064x}"}
    assert both < payees_of(write, [first])[first].keys
    fund(write, agents[-1], f"0x{agents[-1]:040x}", 7)
    assert payees_of(write, [first])[first].keys == {f"agent:{first}", f"wallet:0x{first:040x}"}


def test_what_was_minted__was_sent_by_nobody(write: WriteSession) -> None:
    agent = add_agent(write, "127.0.0.1")
    fund(write, agent, "0x" + "00" * 20)
    assert payees_of(write, [agent])[agent].keys == {f"agent:{agent}"}


def test_a_wallet_that_the_operators_know_to_fund_strangers__is_no_key(write: WriteSession) -> None:
    agent = add_agent(write, "127.0.0.1")
    fund(write, agent, WALLET)
    assert payees_of(write, [agent], {WALLET})[agent].keys == {f"agent:{agent}"}


def test_funders_of_many__are_found_by_an_index(write: WriteSession) -> None:
    write.execute(text("set local enable_seqscan = off"))
    plan = write.scalars(
        text(
            f"explain select min(account_id) from transfer_entry where {FUNDS} and "
            "lower(payload ->> 'from') = 'x'"
        )
    ).all()
    assert "ix_transfer_entry_funders" in " ".join(plan)


# Debts


def test_a_debt_of_a_group__is_repaid_by_whoever_of_it_is_paid_next(write: WriteSession) -> None:
    liar, colleague, stranger = (add_agent(write, one) for one in (HERE, HERE, THERE))
    charge(write, liar, 45)
    assert award(write, stranger, "mining:entry:1") == 60
    assert award(write, colleague, "mining:entry:2") == 0
    assert (owed(write, liar, colleague), left(write)) == ([30, 0], [30])
    assert award(write, colleague, "mining:entry:3") == 30
    assert (owed(write, liar), left(write)) == ([0], [0])
    assert award(write, colleague, "mining:entry:4") == 60
    for account_id in (liar, colleague):
        assert credit_ledger.verify(write, account_id) == []


def test_a_repayment_for_another__is_in_the_feed_as_that_accounts(write: WriteSession) -> None:
    liar, colleague = add_agent(write, HERE), add_agent(write, HERE)
    charge(write, liar, 10)
    award(write, colleague, "mining:entry:2")
    rows = [
        (row.kind, row.account_id, row.credits) for row in feed.rows_of(write, "mining:entry:2", 10)
    ]
    assert sorted(rows) == [("paid", colleague, 40), ("repaid", liar, 20)]


def test_a_debt_that_the_debtor_repays_itself__is_its_groups_no_more(write: WriteSession) -> None:
    liar, colleague = add_agent(write, HERE), add_agent(write, HERE)
    charge(write, liar, 30)
    award(write, liar, "mining:entry:1")
    assert award(write, colleague, "mining:entry:2") == 60


def test_a_debt_that_is_repaid_elsewhere__is_its_groups_no_more(write: WriteSession) -> None:
    """A conversion repays it, and what the debtor owes later is its own."""
    liar, colleague = add_agent(write, HERE), add_agent(write, HERE)
    charge(write, liar, 30)
    credit_ledger.convert(write, liar, 60, "convert:1", {}, NOW)
    awards.charge(write, liar, Source.REOBSERVE, "reobserve:proof:1", 30, NOW)
    assert award(write, colleague, "mining:entry:1") == 60
    assert owed(write, liar) == [60]


def test_a_debt__follows_no_wallet_that_sent_something_to_both(write: WriteSession) -> None:
    """Anybody may send a stranger 1 USDC."""
    liar, stranger = add_agent(write, HERE), add_agent(write, THERE)
    for number, account_id in enumerate((liar, stranger), 1):
        fund(write, account_id, WALLET, number)
    charge(write, liar, 30)
    assert award(write, stranger, "mining:entry:1") == 60


def test_what_a_reversed_award_repaid_for_another__that_one_owes_again(
    write: WriteSession,
) -> None:
    """Its account was paid nothing, and owes nothing."""
    liar, colleague, third = (add_agent(write, HERE) for _ in range(3))
    charge(write, liar, 20)
    assert award(write, colleague, "mining:entry:1") == 20
    assert owed(write, liar, colleague) == [0, 0]
    back = awards.reverse(write, "mining:entry:1", "it was wrong", NOW)
    assert back is not None
    assert back.owed_credits == 60
    assert (owed(write, liar, colleague), left(write)) == ([40, 20], [40])
    assert award(write, third, "mining:entry:2") == 20  # which repaid the liar's


def test_other_debts__are_the_accounts_alone(write: WriteSession) -> None:
    wrong, colleague = add_agent(write, HERE), add_agent(write, HERE)
    awards.charge(write, wrong, Source.REOBSERVE, "reobserve:proof:1", 30, NOW)
    assert award(write, colleague, "mining:entry:1") == 60


# Awards that rest on others


def rest(session: WriteSession, account_id: int, ref: str, on: int, limits: PayoutLimits) -> None:
    awards.award(session, account_id, Source.REOBSERVE, ref, 30, limits, NOW, [on])


def test_what_waits__is_cancelled_when_it_turns_out_to_be_of_one_person(
    write: WriteSession,
) -> None:
    one, other, third = (add_agent(write, f"203.0.113.{n}") for n in range(3))
    rest(write, one, "reobserve:proof:1", other, NOTHING)
    rest(write, third, "reobserve:proof:2", other, NOTHING)
    for number, account_id in enumerate((one, other), 1):
        fund(write, account_id, WALLET, number)
    drained = awards.drain(write, LIMITS, TOMORROW)
    assert (drained.paid_credits, queries.totals(write)) == (60, (0, 0))
    assert [row.credits for row in write.scalars(select(EarnCancellation))] == [60]
    rows = [(row.kind, row.credits) for row in feed.rows_of(write, "reobserve:proof:1", 10)]
    assert rows == [("withdrawn", 60)]
    assert credit_ledger.load_balance(write, third).earned == 60


def test_what_was_paid_of_it__stays__until_its_approval_is_reversed(write: WriteSession) -> None:
    one, other = add_agent(write, HERE), add_agent(write, THERE)
    rest(write, one, "reobserve:proof:1", other, PayoutLimits(day_budget=20))
    for number, account_id in enumerate((one, other), 1):
        fund(write, account_id, WALLET, number)
    awards.drain(write, LIMITS, TOMORROW)
    balance = credit_ledger.load_balance(write, one)
    assert (balance.earned, balance.owed) == (20, 0)
    back = awards.reverse(write, "reobserve:proof:1", "the review was reversed", TOMORROW)
    assert back is not None
    assert (back.withdrawn_credits, back.owed_credits) == (0, 20)
