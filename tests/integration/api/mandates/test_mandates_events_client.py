"""The Python client follows a mandate over a real socket."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.client import Client, Refused
from api.kernel.operation import Deps
from api.kernel.streams import StreamTimes
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database
from tests.integration.api.conftest import KEY
from tests.integration.api.mandates.stage import USDC, Stage
from tests.integration.api.serving import served


@pytest.fixture
def agent(deps: Deps, database_url: str, stage: Stage) -> Iterator[Client]:
    own = replace(
        deps,
        database=Database(database_url, application_name="served"),
        workers=Pools(Workers(CALLS, CALLS_OF_ONE)),
    ).with_part(StreamTimes, StreamTimes(lives_s=600))
    with served(lambda _: create_app(own)) as url, Client(url, stage.agent[KEY]) as client:
        yield client


def test_the_client__hears_rows_and_goes_on_after_a_break(
    agent: Client, stage: Stage, mandate_id: str
) -> None:
    with agent.mandates.events(mandate_id) as events:
        assert next(events).name == "reset"
        stage.executed(mandate_id, USDC)
        first = next(events)
    stage.executed(mandate_id, USDC)
    with agent.mandates.events(mandate_id, last_event_id=events.last_event_id) as again:
        second = next(again)
    assert (first.name, second.name) == ("step", "step")
    assert second.content["seq"] == first.content["seq"] + 1
    assert first.content["mandate_id"] == mandate_id


def test_the_client__raises_what_is_refused(agent: Client, stage: Stage) -> None:
    with pytest.raises(Refused, match="m_aaaaaaaaaa"):
        agent.mandates.events("m_aaaaaaaaaa")
