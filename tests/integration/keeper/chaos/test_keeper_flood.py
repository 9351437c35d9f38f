"""The same stories while the outbox is full: whatever waits there, each vault at its floor is
stopped within the promised blocks.

`SEEDS=a..b` chooses seeds, as of the other stories; odd ones have a gas key, even ones send
requests by the keeper's own.
"""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from core.db.embedded import EmbeddedPostgres
from tests.integration.chain_fixtures import USDC
from tests.integration.keeper.chaos.conftest import FLOODS
from tests.integration.keeper.chaos.oracle import Oracle, happened
from tests.integration.keeper.chaos.story import Story
from tests.integration.keeper.chaos.test_keeper_chaos import DEEP_STEPS, SHORT, STEPS, staged
from tests.integration.keeper.flood import SEALING_KEY, Starter, flood
from tests.personas import GUARD

MOST_SEEDS = 20
QUEUED, WALLETS = 2_000, 20
# of calm; requests have a loop of their own, of which a block seen by a tick says nothing
PAID_S = 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in FLOODS.chosen() if seed <= MOST_SEEDS])
def test_after_any_story_with_a_full_outbox__each_fallen_vault_is_stopped_in_time(
    seed: int, crashable: EmbeddedPostgres, chaos_database: str, tmp_path: Path
) -> None:
    begun, repeat = time.monotonic(), f"SEEDS={seed}..{seed} make test T={Path(__file__).name}"
    with staged(seed, crashable, chaos_database, tmp_path) as story:
        starters = flooded(story)
        keys = {signer.address for signer in story.signers} | {GUARD.address}
        oracle = Oracle(story.world, story.database, story.nodes, story.crew, frozenset(keys))
        try:
            story.tell(STEPS if seed in SHORT else DEEP_STEPS)
            story.fall_and_promise()
            found = [
                *story.faults,
                *story.crew.faults,
                *oracle.of_stops(),
                *faults_of_requests(story, starters),
            ]
        finally:
            print(f"seed {seed}: {time.monotonic() - begun:.1f} s", *story.steps, sep="\n  ")
        print(f"  {oracle.counts()}\n  logs: {happened(story.crew)}\n  {repeat}")
    assert not found, "\n".join([f"seed {seed}; repeat it with: {repeat}", *found])
    FLOODS.remember(seed, [])


def flooded(story: Story) -> list[Starter]:
    """Before anybody runs: the requests, and keepers that can open the wallets."""
    chain, world = story.world.chain, story.world
    chain.rpc.call("evm_setAutomine", [True])
    starters = flood(chain, story.database, QUEUED, wallets=WALLETS, at=datetime.now(UTC))
    chain.rpc.call("evm_setAutomine", [False])
    world.begin_here()
    story.crew.settings |= {"CUSTODY_KEY": SEALING_KEY.hex()} | dict.fromkeys(
        (
            "CUSTODY_GAS_WEI_PER_DAY",
            "CUSTODY_GAS_WEI_PER_OWNER_PER_DAY",
            "CUSTODY_GAS_WEI_PER_ACCOUNT_PER_DAY",
        ),
        str(10**19),
    )
    story.crew.settings["CUSTODY_GAS_PRIVATE_KEY"] = GUARD.private_key
    return starters


def paid_to(story: Story, starters: list[Starter]) -> int:
    reader = story.world.chain.reader
    return sum(reader.usdc_balance(starter.linked) for starter in starters) // USDC


def faults_of_requests(story: Story, starters: list[Starter]) -> list[str]:
    """Some requests were paid, none twice. They come after the stops: blocks of calm are mined until
    one is.
    """
    story.calm()
    begun = time.monotonic()
    while not paid_to(story, starters) and time.monotonic() < begun + PAID_S:
        story.see_block()
    paid = paid_to(story, starters)
    with story.database.read() as session:
        in_blocks = (
            "select count(*) from keeper_intent where kind = 'custodial_transfer' and state in "
            "('done', 'safe', 'mined')"
        )
        sent = session.execute(text(in_blocks)).scalar_one()
        twice = session.execute(
            text(
                "select outbox_id from keeper_intent where outbox_id is not null and state = "
                "'done' group by 1 having count(*) > 1"
            )
        ).all()
    story.steps.append(
        f"{paid} of {QUEUED} requests paid, {sent} by the rows ({time.monotonic() - begun:.1f} s)"
    )
    return [
        *(f"request {outbox_id} is done twice" for (outbox_id,) in twice),
        *(["no request was paid"] if paid == 0 else []),
    ]
