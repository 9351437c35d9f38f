"""The keeper posts each hour's root once, whatever happens in between."""

from datetime import UTC, datetime

import pytest

from core.anchors.chain import CONTRACT, newest_posted
from core.anchors.rules import EPOCH_S, START, epoch_end_s
from core.anchors.tables import AnchorEpoch
from keeper.areas.anchors import Anchors
from tests.integration.keeper.conftest import KilledError, Stage


def hours_pass(stage: Stage, hours: int) -> int:
    """The contract is there, so many hours pass and are made; answers the newest."""
    factory = stage.chain.contracts["factory"]
    stage.chain.contracts[CONTRACT] = stage.chain.deploy("RecordAnchor", factory)
    epoch = stage.chain.now // EPOCH_S + hours - 1
    at = epoch_end_s(epoch) + 400
    stage.pass_time(at)
    job = Anchors(stage.chain.reader, stage.database, lambda _: None)
    job.run(datetime.fromtimestamp(at, UTC))
    return epoch


def posted(stage: Stage) -> int:
    header = stage.chain.reader.header()
    assert header is not None
    return newest_posted(stage.chain.rpc, stage.chain.contracts[CONTRACT], header.hash)[0]


def test_an_hour_that_is_over__is_posted_once(stage: Stage) -> None:
    epoch = hours_pass(stage, 1)
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
    assert [kind for kind, _ in stage.states()].count("anchor") == 1


@pytest.mark.parametrize("state", ["planned", "signed"])
def test_killed_between_commit_and_send__neither_skips_nor_doubles(
    stage: Stage, state: str
) -> None:
    epoch = hours_pass(stage, 2)
    dying = stage.keeper(die_after=state)
    with pytest.raises(KilledError):
        dying.run()
    dying.die()
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
    assert [kind for kind, _ in stage.states()].count("anchor") == 2


def test_epochs_whose_blocks_were_not_found__hold_no_later_one_back(stage: Stage) -> None:
    """The oldest 100 of them were all that the keeper looked at."""
    epoch = hours_pass(stage, 1)
    with stage.database.write() as session:
        for old in range(1, 102):
            session.add(
                AnchorEpoch(
                    epoch=old, root=START, root_before=START, seen_block=0, created_at=stage.now()
                )
            )
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
