"""Held facts when the chain's own tables are gone: what is retried has its block's time, or waits for it."""

from datetime import UTC, datetime

from indexer.chain.retry import BLOCK_UNKNOWN, retry_all
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.integration.indexer.refusing import Refusals, held
from tests.integration.indexer.test_backfill import FINAL_BEHIND, forget
from tests.integration.indexer.test_quarantine import key_of


def test_a_fact_without_its_block__waits_and_is_taken_with_the_blocks_time(follower: Follower, working: tuple[Issued, str]) -> None:
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
    assert [one.refusal for one in retry_all(follower.chain, now_utc())] == [BLOCK_UNKNOWN]
    follower.tip.retry_held()
    assert follower.tip.owes_retry
    follower.catch_up()
    follower.tip.retry_held()
    assert (held(follower.database, mandate.id), follower.tip.owes_retry) == ([], False)
    assert all(row.occurred_at > datetime(2026, 1, 1, tzinfo=UTC) for row in follower.rows(mandate))
    assert follower.story(mandate)[-1] == "move"
