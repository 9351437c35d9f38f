"""Held facts when the chain's own tables are gone: what is retried has its block's time, or waits
for it, or its block was replaced.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from core.transfers.rules import FourStates
from indexer.chain.facts import deposit_key
from indexer.chain.retry import BLOCK_UNKNOWN
from indexer.held import retry_held
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import FINAL_BEHIND, Follower, Issued, SampleLedger, now_utc
from tests.integration.indexer.refusing import Refusals, facts, held
from tests.integration.indexer.test_backfill import forget
from tests.integration.indexer.test_deposits import Watched
from tests.integration.indexer.test_payments import link
from tests.integration.indexer.test_quarantine import buy, key_of, moves, reasons


@pytest.mark.slow
def test_a_fact_without_its_block__waits_and_is_taken_with_the_blocks_time(
    follower: Follower, working: tuple[Issued, str]
) -> None:
    """Its row once said 1970, for good: rows are never changed."""
    mandate, vault = working
    refusals = Refusals(follower.database)
    follower.deployed.anvil.mine(2 * FINAL_BEHIND)
    follower.catch_up()
    refusals.add(key_of(follower.deployed.buy(vault, 10 * USDC), vault))
    follower.catch_up()
    forget(follower)
    refusals.drop()
    follower.tip.round()
    assert [one.refusal for one in follower.retry_all()] == [BLOCK_UNKNOWN]
    follower.retry_held()
    assert held(follower.database, mandate.id) != []
    follower.catch_up()
    follower.retry_held()
    assert held(follower.database, mandate.id) == []
    assert all(row.occurred_at > datetime(2026, 1, 1, tzinfo=UTC) for row in follower.rows(mandate))
    assert follower.story(mandate)[-1] == "move"


def raw_transaction(follower: Follower, tx_hash: str) -> str:
    return str(follower.deployed.rpc.call("eth_getRawTransactionByHash", [tx_hash]))


def mine_elsewhere(follower: Follower, *raw: str) -> None:
    """The newest block is replaced by one with these transactions, and three more follow."""
    follower.deployed.rpc.call("anvil_reorg", [1, [[one, 0] for one in raw]])
    follower.deployed.anvil.mine(3)


def held_purchase(follower: Follower, ledger: SampleLedger, refusals: Refusals) -> str:
    """A move that the database refuses; the transaction as it was sent."""
    receipt = follower.deployed.buy(ledger[1], 10 * USDC)
    refusals.add(key_of(receipt, ledger[1]))
    follower.catch_up()
    return raw_transaction(follower, receipt.tx_hash)


@pytest.mark.parametrize("comes_again", [True, False], ids=["it comes again", "it does not"])
def test_a_block_that_was_replaced_while_the_tables_were_away__holds_nothing_for_ever(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals, comes_again: bool
) -> None:
    """No rollback withdraws it: the new machine never saw the old block.

    Two moves were missing, and `retry` waited without end.
    """
    first = ledgers[0]
    raw = held_purchase(follower, first, refusals)
    refusals.drop()
    forget(follower)
    mine_elsewhere(follower, *([raw] if comes_again else []))
    buy(follower, first)
    follower.catch_up()
    follower.retry_held()
    assert reasons(follower, first) == []
    assert moves(follower, first) == 1 + comes_again
    assert retry_held(follower.chain, None, now_utc()).lines == ("Nothing is held.",)
    follower.assert_sound(*first)


def test_a_fact_that_comes_again_in_another_block__is_held_from_there_for_its_old_reason(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    raw = held_purchase(follower, first, refusals)
    forget(follower)
    mine_elsewhere(follower, raw)
    follower.catch_up()
    old, new = facts(follower.database)
    assert (old.withdrawn_at is None, new.withdrawn_at) == (False, None)
    assert old.block_hash != new.block_hash
    assert (new.reason, new.note, new.tries) == (old.reason, old.note, 1)


@pytest.mark.slow
def test_a_block_that_is_not_read_yet__keeps_its_fact_waiting(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    """Above the cursor nobody knows what stands there."""
    first = ledgers[0]
    follower.deployed.anvil.mine(2 * FINAL_BEHIND)
    refusals.add(buy(follower, first))
    follower.catch_up()
    forget(follower)
    follower.tip.round()
    [done] = follower.retry_all()
    assert (done.withdrawn, done.refusal) == (0, BLOCK_UNKNOWN)
    assert reasons(follower, first) == ["database"]


def test_a_deposit_of_a_replaced_block__is_in_no_balance(
    follower: Follower, refusals: Refusals
) -> None:
    """An account's ledger asked for no block, and took what the chain no longer says."""
    watched = Watched(follower)
    link(watched, now_utc() - timedelta(hours=1))
    refusals.add(deposit_key(watched.pay(5 * USDC), 0))
    follower.catch_up()
    refusals.drop()
    forget(follower)
    mine_elsewhere(follower)
    follower.catch_up()
    [done] = follower.retry_all()
    assert (done.released, done.withdrawn, done.refusal) == (0, 1, None)
    assert watched.balance() == FourStates()
