"""The API with contracts that exist nowhere, and a stage of people (stage.py)."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from core.perps.rules.leg import PerpsTerms, perps_terms
from tests.integration.api.conftest import BASE_URL, Clock, deps_of
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import CONTRACTS, Stage, StageChain
from tests.integration.scenes import Scene, Scenes


@pytest.fixture
def chain(clock: Clock) -> StageChain:
    return StageChain(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return replace(deps, contracts=CONTRACTS).with_part(
        PerpsTerms, perps_terms("http://127.0.0.1:1", 100)
    )


@pytest.fixture
def people(request: pytest.FixtureRequest, template: str, scenes: Scenes) -> Scene:
    """Owner, agent and, where the test takes `mandate_id`, a mandate."""
    entered = scenes.play("entered", template, on_stage(Stage.enter))
    if "mandate_id" not in request.fixturenames:
        return entered
    return scenes.play("working", entered.database, on_stage(_with_mandate, entered.held))


def _with_mandate(stage: Stage) -> Stage:
    stage.mandate_id = stage.working()
    return stage


@pytest.fixture
def origin(request: pytest.FixtureRequest, template: str) -> str:
    """Where the test has people, they have entered."""
    if "people" not in request.fixturenames:
        return template
    return str(request.getfixturevalue("people").database)


@pytest.fixture
def stage(
    client: TestClient, database: Database, clock: Clock, chain: StageChain, people: Scene
) -> Stage:
    return replace(people.held, client=client, database=database, clock=clock, chain=chain)


@pytest.fixture
def mandate_id(stage: Stage) -> str:
    """A signed mandate whose vault holds the whole budget."""
    return stage.mandate_id


def on_stage(
    act: Callable[[Stage], Stage], people: Stage | None = None
) -> Callable[[Database], Stage]:
    """What `act` makes of a stage, with these people or with nobody."""

    def play(database: Database) -> Stage:
        clock = Clock()
        chain = StageChain(mined_at=int(clock.now.timestamp()))
        deps = replace(deps_of(database, clock, chain), contracts=CONTRACTS)
        with AppClient(create_app(deps), base_url=BASE_URL) as client:
            stage = Stage(client, database, clock, chain)
            if people is not None:
                stage = replace(people, client=client, database=database, clock=clock, chain=chain)
            return act(stage)

    return play
