"""Server-sent events over a real socket and a real Postgres: what comes, in which order, and what a
break of any kind costs.
"""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.kernel.operation import Deps
from api.kernel.streams import StreamTimes
from api.main import create_app
from tests.integration.api.mandates.following import following
from tests.integration.api.mandates.stage import USDC, Stage
from tests.integration.api.serving import served

LIVE = StreamTimes(heartbeat_s=15, lives_s=600)
OWN = "/mandate-wallet/me/events"


def path_of(mandate_id: str) -> str:
    return f"/mandate-wallet/mandates/{mandate_id}/events"


@pytest.fixture
def base_url(deps: Deps) -> Iterator[str]:
    with served(lambda _: create_app(replace(deps, stream_times=LIVE))) as url:
        yield url


def test_a_mandates_stream__begins_with_reset_and_tells_each_new_row_once(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    with following(base_url + path_of(mandate_id), stage.agent) as follower:
        follower.until(lambda one: one.heard)
        stage.executed(mandate_id, 200 * USDC)
        follower.until(lambda one: len(one.heard) == 2)
    begun, step = follower.heard
    assert (begun.name, begun.data["status"], begun.id) == ("reset", "working", str(begun.seq))
    assert step.data == {
        "mandate_id": mandate_id,
        "seq": begun.seq + 1,
        "kind": "move",
        "reported_by": "chain",
        "is_reversal": False,
        "created_at": "2026-11-21T12:00:00Z",
        "status": "working",
    }
    assert follower.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert follower.retry == "3000"


def test_an_owners_stream__tells_the_rows_of_all_mandates(
    base_url: str, stage: Stage, mandate_id: str
) -> None:
    other = stage.paper()
    with following(base_url + OWN, stage.owner) as follower:
        follower.until(lambda one: one.last_id)
        stage.executed(mandate_id, 10 * USDC)
        stage.executed(mandate_id, 20 * USDC)
        third = stage.paper()
        follower.until(lambda one: len(one.seqs()) >= 3)
    told = [(one.data["mandate_id"], one.name) for one in follower.heard if one.name != "reset"]
    assert told[:2] == [(mandate_id, "step")] * 2
    assert {name for name, _ in told} == {mandate_id, third}
    assert other not in dict(told)
