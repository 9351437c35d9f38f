"""The alert of sponsored buys is fired by nodes that disagree, and by nodes that are silent."""

import pytest

from core.sponsored.rules import STUCK_S
from tests.integration.api.sponsored.conftest import Lie, LyingWire, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_verdicts import (
    altered,
    final,
    follow_by,
    refused,
)
from tests.watching import AlertWatch, fires

pytestmark = pytest.mark.slow


def scrape(stage: SponsoredStage, watch: AlertWatch) -> None:
    watch.scrape(stage.follower.tip.chain.metrics.registry, at=float(stage.chain.now))


@fires("LogsAreNotConfirmed")
@pytest.mark.parametrize("fault", [altered, refused])
def test_nodes_that_do_not_agree(
    stage: SponsoredStage, agent: dict[str, str], watch: AlertWatch, fault: Lie
) -> None:
    follow_by(stage, LyingWire(), LyingWire(fault))
    stage.confirm()
    scrape(stage, watch)
    assert not watch.is_firing("LogsAreNotConfirmed", at=stage.chain.now + STUCK_S + 200)
    stage.bought(agent)
    stage.processes[0].run()
    final(stage)
    scrape(stage, watch)
    assert not watch.is_firing("LogsAreNotConfirmed", at=stage.chain.now + 200)
    stage.pass_time(STUCK_S + 1)
    final(stage)
    scrape(stage, watch)
    assert not watch.is_firing("LogsAreNotConfirmed", at=stage.chain.now + 50)
    assert watch.is_firing("LogsAreNotConfirmed", at=stage.chain.now + 130)
