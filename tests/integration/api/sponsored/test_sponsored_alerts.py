"""The alerts of sponsored buys are fired by nodes that lie, and by nodes that are silent."""

import pytest

from tests.integration.api.sponsored.conftest import LyingWire, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_verdicts import altered, final, follow_by
from tests.watching import AlertWatch, fires

pytestmark = pytest.mark.slow


def scrape(stage: SponsoredStage, watch: AlertWatch) -> None:
    watch.scrape(stage.follower.tip.chain.metrics.registry, at=float(stage.chain.now))


@fires("SponsoredBuyIsDisputed")
def test_a_node_alters_what_was_paid(
    stage: SponsoredStage, agent: dict[str, str], watch: AlertWatch
) -> None:
    follow_by(stage, LyingWire(altered), LyingWire())
    stage.prove()
    scrape(stage, watch)
    assert not watch.is_firing("SponsoredBuyIsDisputed", at=stage.chain.now + 700)
    stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    scrape(stage, watch)
    assert not watch.is_firing("SponsoredBuyIsDisputed", at=stage.chain.now + 500)
    assert watch.is_firing("SponsoredBuyIsDisputed", at=stage.chain.now + 610)


@fires("SponsoredBuysAreNotProved")
def test_no_node_gives_the_logs_of_a_block(
    stage: SponsoredStage, agent: dict[str, str], watch: AlertWatch
) -> None:
    wire = LyingWire()
    follow_by(stage, wire)
    stage.prove()
    scrape(stage, watch)
    assert not watch.is_firing("SponsoredBuysAreNotProved", at=stage.chain.now + 1_000)
    stage.bought(agent)
    stage.processes[0].run()
    stage.chain.anvil.mine(40)
    stage.index()
    stage.follower.tip.note_finality()
    wire.lie = lambda call, said: None if call["method"] == "eth_getLogs" else said
    stage.prove()
    scrape(stage, watch)
    assert not watch.is_firing("SponsoredBuysAreNotProved", at=stage.chain.now + 800)
    assert watch.is_firing("SponsoredBuysAreNotProved", at=stage.chain.now + 910)
