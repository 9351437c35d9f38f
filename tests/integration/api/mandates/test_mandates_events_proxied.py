"""Server-sent events through the proxy that is shipped."""

import os
import time
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from api.kernel.operation import Deps
from api.kernel.streams import StreamTimes
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database
from tests.integration.api.behind_proxy import behind_proxy
from tests.integration.api.mandates.following import following
from tests.integration.api.mandates.stage import USDC, Stage
from tests.integration.api.mandates.test_mandates_events import path_of
from tests.integration.api.serving import served


@pytest.fixture
def own(deps: Deps, database_url: str) -> Deps:
    """With connections of its own: the one in this process ends before it."""
    return replace(
        deps,
        database=Database(database_url, application_name="served"),
        workers=Pools(Workers(CALLS, CALLS_OF_ONE)),
    )


def test_a_stream__passes_the_proxy_event_by_event(
    own: Deps, stage: Stage, mandate_id: str
) -> None:
    beating = own.with_part(StreamTimes, StreamTimes(heartbeat_s=0.5, lives_s=600))
    with (
        served(lambda _: create_app(beating)) as url,
        behind_proxy(urlsplit(url).netloc) as port,
        following(f"http://127.0.0.1:{port}{path_of(mandate_id)}", stage.agent) as follower,
    ):
        follower.until(lambda one: one.heard)
        for number in range(2, 5):
            stage.executed(mandate_id, 200 * USDC)
            follower.until(lambda one, so_many=number: len(one.heard) == so_many)  # type: ignore[misc]
        beats = follower.comments
        follower.until(lambda one: one.comments > beats + 1)


@pytest.mark.slow
def test_a_stream__lasts_through_the_proxy(own: Deps, stage: Stage, mandate_id: str) -> None:
    """Longer than any silence that the proxy bears; `make test-deep` waits ten minutes."""
    living = own.with_part(StreamTimes, StreamTimes(lives_s=1_200))
    with (
        served(lambda _: create_app(living)) as url,
        behind_proxy(urlsplit(url).netloc) as port,
        following(f"http://127.0.0.1:{port}{path_of(mandate_id)}", stage.agent) as follower,
    ):
        follower.until(lambda one: one.heard)
        time.sleep(float(os.environ.get("STREAM_S", "90")))
        stage.executed(mandate_id, 200 * USDC)
        follower.until(lambda one: len(one.heard) == 2)
        assert not follower.has_ended
