"""The reserve token's events from chain to credit: state, conversions at safe, reorgs, history."""

import random
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED, SAFE
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import Credits
from core.db.engine import Database
from core.identity.tables import Account
from core.reserve import conversions, queries
from core.reserve.chain import contract_numbers
from core.reserve.reconciliation import (
    ConversionSums,
    conversion_sums,
    faults,
)
from core.reserve.rules import ConversionStatus
from core.reserve.tables import ReserveConversion
from indexer.chain.reserve import Crediting
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import DRAFTED_AT, Follower, now_utc
from tests.integration.reserve_token import TokenOnChain, deploy_reserve_token
from tests.personas import AGENT, OWNER

ONE = 10**18
STRANGERS_REF = "0x" + "ab" * 32


@pytest.fixture
def token(deployed: DeployedChain) -> TokenOnChain:
    found = deploy_reserve_token(deployed)
    found.fund(AGENT, 1_000 * USDC)
    found.fund(OWNER, 1_000 * USDC)
    return found


@pytest.fixture
def following(token: TokenOnChain, follower: Follower) -> Follower:
    """An indexer that knows the token from its first block on."""
    follower.restart(reserve_token=token.address)
    follower.catch_up()
    return follower


def account(database: Database, number: int = 1) -> int:
    with database.write() as session:
        made = Account(kind="agent", name=f"agent {number}", created_at=DRAFTED_AT)
        session.add(made)
        session.flush()
        return made.id


def reference(database: Database, account_id: int, fill: str = "c1") -> str:
    with database.write() as session:
        return queries.issue_ref(session, account_id, "0x" + fill * 32, now_utc())


def balance(database: Database, account_id: int) -> Credits:
    with database.read() as session:
        return credit_ledger.load_balance(session, account_id)


def statuses(database: Database) -> list[str]:
    with database.read() as session:
        rows = session.query(ReserveConversion).order_by(
            ReserveConversion.number, ReserveConversion.log_index
        )
        return [row.status for row in rows]


def credit_all(follower: Follower, rounds: int = 1) -> None:
    crediting = Crediting(follower.chain, now_utc)
    for _ in range(rounds):
        crediting.round()


def sums(database: Database) -> ConversionSums:
    with database.read() as session:
        return conversion_sums(session, CHAIN_ID)


def found_faults(follower: Follower, token: TokenOnChain) -> list[str]:
    with follower.database.read() as session:
        record = queries.state(session)
        counted = conversion_sums(session, CHAIN_ID)
    assert record is not None
    contract = contract_numbers(follower.deployed.reader, token.address, record.block_hash)
    return [one.place["part"] for one in faults(CHAIN_ID, record, contract, counted)]


# State


def test_state__after_each_kind_of_event__is_the_contracts(
    following: Follower, token: TokenOnChain
) -> None:
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.redeem(AGENT, 1_000 * ONE)
    token.convert(AGENT, 4_000 * ONE, STRANGERS_REF)
    following.catch_up()
    with following.database.read() as session:
        found = queries.state(session)
    assert found is not None
    assert found.totals.reserve_e6 == token.number("reserve()") == 52_009_902
    assert found.totals.supply == token.number("totalSupply()") == 5_100 * ONE
    assert found.totals.owed_e6 == token.number("treasuryOwed()") == 40_792_079
    token.pay_treasury()
    following.catch_up()
    with following.database.read() as session:
        found = queries.state(session)
    assert found is not None
    assert found.totals.owed_e6 == 0
    assert found_faults(following, token) == []


def test_what_is_locked__is_the_contracts_to_the_unit_whatever_time_passes(
    following: Follower, token: TokenOnChain
) -> None:
    """Of both: found_faults asks the contract at the record's block."""
    random_, locked = random.Random(57), set[int]()
    token.buy(OWNER, 102 * USDC)
    for _ in range(24):
        token.wait(random_.choice((1, 7, 3_600, 40_000)))
        what = random_.randrange(4)
        if what < 2:
            token.buy(AGENT if what else OWNER, random_.randrange(1, 40 * USDC))
        elif what == 2:
            token.redeem(OWNER, random_.randrange(ONE, 900 * ONE))
        else:
            token.convert(OWNER, random_.randrange(ONE, 900 * ONE), STRANGERS_REF)
        following.catch_up()
        assert found_faults(following, token) == []
        with following.database.read() as session:
            found = queries.state(session)
        assert found is not None
        locked.add(found.locked_e6)
    assert len(locked) > 20


def test_state__after_a_reorg__is_that_of_the_new_branch(
    following: Follower, token: TokenOnChain
) -> None:
    token.buy(AGENT, 10 * USDC)
    following.catch_up()
    following.deployed.anvil.reorg(1)
    following.deployed.anvil.mine()
    following.catch_up()
    with following.database.read() as session:
        found = queries.state(session)
    assert found is not None
    assert (found.totals.reserve_e6, found.totals.supply) == (USDC, 100 * ONE)


def test_events_of_another_contract__are_not_believed(
    following: Follower, token: TokenOnChain, deployed: DeployedChain
) -> None:
    real = dict(deployed.contracts)
    forged = deploy_reserve_token(deployed)
    deployed.contracts.update(real)
    forged.fund(AGENT, 100 * USDC)
    forged.buy(AGENT, 100 * USDC)
    forged.convert(AGENT, 50 * ONE, reference(following.database, account(following.database)))
    following.catch_up()
    assert statuses(following.database) == []
    assert found_faults(following, token) == []


# Conversions


def test_a_conversion__below_safe__is_credited_once(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    following.catch_up()
    credit_all(following)
    assert balance(following.database, mine).converted == 0  # not safe yet
    following.be_safe()
    credit_all(following, rounds=3)
    assert statuses(following.database) == ["credited"]
    # 103 USDC of 10,100 tokens: 4,000 are 40.792079 USDC
    assert balance(following.database, mine) == Credits(converted=4_079)
    assert found_faults(following, token) == []


def test_what_is_left_below_a_credit__is_carried_to_the_next_conversion(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, ONE, ref)  # 0.010198: a credit, and 198 are carried
    for _ in range(3):
        token.convert(AGENT, ONE // 2, ref)  # 0.005099 each
    following.be_safe()
    credit_all(following)
    # 10,198 + 3 x 5,099 = 25,495: two credits
    assert balance(following.database, mine).converted == 2
    assert found_faults(following, token) == []


@pytest.mark.slow
def test_an_unknown_reference__is_held_until_its_holder_claims_it(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, 100 * ONE, STRANGERS_REF)
    following.be_safe()
    credit_all(following)
    assert statuses(following.database) == ["held"]
    assert found_faults(following, token) == []
    ref, holder = STRANGERS_REF, AGENT.address
    with following.database.write() as session:
        conversions.claim_lock(ref, holder).wait(session)
        queries.add_claim(session, ref, holder, mine, now_utc())
        assert conversions.release_held(session, ref, holder) == 1
    credit_all(following)
    assert balance(following.database, mine).converted == 101  # 1.019801 USDC
    token.convert(AGENT, 100 * ONE, STRANGERS_REF)  # a claim stands for later ones too
    following.be_safe()
    credit_all(following)
    assert statuses(following.database) == ["credited", "credited"]


def test_a_reorg_below_safe__takes_credit_back_and_what_is_spent_is_owed(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    receipt = token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    following.catch_up()
    call_it_safe(following)
    credit_all(following)
    with following.database.write() as session:
        credit_ledger.spend(session, mine, 4_000, "spent", {}, now_utc())
    following.deployed.anvil.reorg(1)
    following.deployed.anvil.mine()
    following.catch_up()
    assert statuses(following.database) == ["reversed"]
    assert balance(following.database, mine) == Credits(owed=4_000)
    assert found_faults(following, token) == []
    assert receipt.status == 1
    # a later conversion repays it first
    token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    following.catch_up()
    call_it_safe(following)
    credit_all(following)
    assert balance(following.database, mine) == Credits(converted=79)
    assert found_faults(following, token) == []


def call_it_safe(follower: Follower) -> None:
    """As a node would that calls its newest block safe."""
    at = follower.tip.cursor
    with follower.database.write() as session:
        blocks.save_mark(session, SAFE, CHAIN_ID, at, follower.chain.epoch, now_utc())


@pytest.mark.slow
def test_a_conversion_that_a_reorg_moves_to_another_block__is_credited_once(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    raw = following.deployed.sign(AGENT, token.address, token.convert_data(4_000 * ONE, ref))
    following.deployed.rpc.call("eth_sendRawTransaction", [raw])
    following.deployed.anvil.mine()
    following.catch_up()
    call_it_safe(following)
    credit_all(following)
    assert balance(following.database, mine).converted == 4_079
    following.deployed.anvil.reorg(2, [(raw, 1)])
    following.deployed.anvil.mine()
    following.catch_up()
    assert balance(following.database, mine).converted == 0
    call_it_safe(following)
    credit_all(following, rounds=2)
    assert balance(following.database, mine).converted == 4_079
    assert sorted(statuses(following.database)) == ["credited", "reversed"]
    assert found_faults(following, token) == []


@pytest.mark.slow
def test_a_conversion_that_cannot_be_credited__is_set_aside_and_the_others_are_not(
    following: Follower, token: TokenOnChain
) -> None:
    bad, good = account(following.database, 1), account(following.database, 2)
    token.buy(AGENT, 102 * USDC)
    token.buy(OWNER, 102 * USDC)
    token.convert(AGENT, 100 * ONE, reference(following.database, bad, "d1"))
    token.convert(OWNER, 100 * ONE, reference(following.database, good, "d2"))
    following.be_safe()
    with following.database.write() as session:  # its balance has no room for any more
        credit_ledger.convert(session, bad, 1, "all", {}, now_utc())
        session.execute(
            text("update credit_head set converted = 9223372036854775807 where account_id = :bad"),
            {"bad": bad},
        )
    credit_all(following, rounds=2)
    assert sorted(statuses(following.database)) == ["credited", "set_aside"]
    assert balance(following.database, good).converted > 0


@pytest.mark.slow
def test_dust_of_one_holder__delays_no_other(following: Follower, token: TokenOnChain) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.buy(OWNER, 102 * USDC)
    for _ in range(3 * conversions.ROWS_A_HOLDER):
        token.convert(AGENT, ONE // 100, ref)
    token.convert(OWNER, 100 * ONE, ref)
    following.be_safe()
    credit_all(following)
    found = statuses(following.database)
    assert found[-1] == "credited"
    assert found.count("credited") == conversions.ROWS_A_HOLDER + 1


def test_two_workers_at_once__credit_a_conversion_once(
    following: Follower, token: TokenOnChain
) -> None:
    mine = account(following.database)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    following.be_safe()
    safe = following.tip.cursor.number
    with following.database.read() as session:
        (place,) = conversions.due(session, CHAIN_ID, safe, None, now_utc()).holders
    with following.database.write() as one:
        assert conversions.credit(one, place, now_utc()) is ConversionStatus.CREDITED
        with following.database.write() as other:
            assert conversions.credit(other, place, now_utc()) is None
    assert balance(following.database, mine).converted == 4_079


# History


@pytest.mark.slow
def test_a_record_that_was_begun_without_the_token__reads_its_history(
    follower: Follower, token: TokenOnChain
) -> None:
    mine = account(follower.database)
    ref = reference(follower.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, 4_000 * ONE, ref)
    follower.catch_up()
    with follower.database.read() as session:
        assert queries.state(session) is None
    follower.restart(reserve_token=token.address)
    follower.be_safe()
    follower.crediting.round()
    with follower.database.read() as session:
        assert blocks.cursor(session, RESERVE_FOLLOWED) is not None
    token.buy(OWNER, 10 * USDC)
    follower.be_safe()
    credit_all(follower)
    assert balance(follower.database, mine).converted == 4_079
    assert found_faults(follower, token) == []


def test_a_history_about_which_nodes_disagree__is_read_once_they_agree(
    follower: Follower, token: TokenOnChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    token.buy(AGENT, 102 * USDC)
    follower.catch_up()
    follower.be_safe()
    follower.restart(reserve_token=token.address)
    rpc = type(follower.chain.reader.rpc)
    asked = rpc.batch_of_each

    def omitting(self: Any, *args: Any, **named: Any) -> Any:
        """A second node, whose logs are none."""
        said = asked(self, *args, **named)
        [[_, header]] = said.values()
        return said | {"second": [[], header]}

    monkeypatch.setattr(rpc, "batch_of_each", omitting)
    follower.crediting.round()
    with follower.database.read() as session:
        assert queries.state(session) is None
    monkeypatch.undo()
    follower.crediting.round()
    follower.be_safe()
    follower.crediting.round()
    with follower.database.read() as session:
        found = queries.state(session)
    assert found is not None
    assert found.totals.reserve_e6 == 103 * USDC


# Reconciliation


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        ("delete from reserve_conversion", "conversions"),
        ("update reserve_event set reserve_after_e6 = reserve_after_e6 + 1", "reserve"),
        ("update reserve_event set lock_after_e6 = lock_after_e6 + 9", "locked"),
        (
            "update reserve_event set lock_until_after_ns = lock_until_after_ns + 1",
            "unlocks",
        ),
        ("update reserve_event set supply_after = supply_after + 1", "supply"),
        ("update reserve_event set owed_after_e6 = owed_after_e6 + 1", "owed"),
        ("update reserve_converted set usdc_e6 = usdc_e6 + 10000", "credits"),
        ("update reserve_conversion set usdc_e6 = usdc_e6 - 1", "conversions_usdc"),
    ],
)
@pytest.mark.slow
def test_reconciliation__sees_what_was_lost_or_made_up(
    following: Follower, token: TokenOnChain, damage: str, part: str
) -> None:
    mine = account(following.database)
    token.buy(AGENT, 102 * USDC)
    token.convert(AGENT, 4_000 * ONE, reference(following.database, mine))
    following.be_safe()
    credit_all(following)
    assert found_faults(following, token) == []
    with following.database.write() as session:
        session.execute(text(damage))
    assert part in found_faults(following, token)


def test_reconciliation__allows_donations(following: Follower, token: TokenOnChain) -> None:
    following.deployed.mint(token.address, 500 * USDC)
    following.catch_up()
    assert found_faults(following, token) == []


def test_reconciliation__of_a_contract_that_holds_too_little__says_so(
    following: Follower, token: TokenOnChain
) -> None:
    with following.database.read() as session:
        record, counted = queries.state(session), conversion_sums(session, CHAIN_ID)
    assert record is not None
    contract = contract_numbers(following.deployed.reader, token.address, record.block_hash)
    short = replace(contract, usdc_e6=contract.reserve_e6 + contract.owed_e6 - 1)
    assert [one.place["part"] for one in faults(CHAIN_ID, record, short, counted)] == ["balance"]
