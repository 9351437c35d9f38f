"""Held facts when the chain's own tables are gone: what is read again is held again, where it is
refused again.
"""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from core.transfers.rules import FourStates
from indexer.chain.facts import deposit_key
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, SampleLedger, now_utc
from tests.integration.indexer.refusing import Refusals, facts
from tests.integration.indexer.test_backfill import forget
from tests.integration.indexer.test_deposits import Watched
from tests.integration.indexer.test_payments import link
from tests.integration.indexer.test_quarantine import buy, key_of, moves, owner_alerts, reasons


def test_what_is_still_refused__is_held_again_from_its_block(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    buy(follower, first)
    refusals.add(bad := buy(follower, first))
    waits = buy(follower, first)
    follower.catch_up()
    forget(follower)
    follower.catch_up()
    assert [alert.withdrawn_at is None for alert in owner_alerts(follower)] == [False, True]
    found = facts(follower.database)
    assert [(one.base_key, one.withdrawn_at is None) for one in found] == [
        (bad, False),
        (waits, False),
        (bad, True),
        (waits, True),
    ]
    refusals.drop()
    follower.retry_all()
    assert moves(follower, first) == 3
    follower.assert_sound(*first)


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
    """No rollback withdraws it: the new machine never saw the old block."""
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
    follower.assert_sound(*first)


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
    assert follower.retry_all() == []
    assert watched.balance() == FourStates()
