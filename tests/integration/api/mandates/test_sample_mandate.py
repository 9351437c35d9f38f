"""The sample of a simulated world, which anybody may look at; of every other mandate nobody learns anything."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from core.db.engine import Database
from core.mandate.queries import SAMPLE_ID
from tests.each import each
from tests.integration.api.conftest import Clock
from tests.integration.api.mandates.stage import ADAPTER, CHAIN_ID, CONTRACTS
from tests.world.mandates import Place
from tests.world.seed import seed

PLACE = Place(CHAIN_ID, CONTRACTS["factory"], CONTRACTS["usdc"], ADAPTER)
READS = ("", "/steps", "/ledger", "/approvals")
OTHERS = "m_simaaaaaaa"  # a simulated one that is not the sample


def read(client: TestClient, mandate_id: str, part: str) -> Any:
    return client.get(f"/mandate-wallet/mandates/{mandate_id}{part}")


@pytest.fixture
def seeded(database: Database, clock: Clock) -> None:
    seed(database, PLACE, clock.now, agents=1, days=40)


@each("part", READS)
def test_sample__is_read_without_a_credential_and_says_that_it_is_simulated(
    seeded: None, client: TestClient, part: str
) -> None:
    answer = read(client, SAMPLE_ID, part)
    assert (answer.status_code, answer.json().get("simulated")) == (200, True), answer.text


def test_overview__names_the_sample(seeded: None, client: TestClient) -> None:
    assert client.get("/overview").json()["sample_mandate_id"] == SAMPLE_ID


def test_overview__names_none_without_a_simulated_world(client: TestClient) -> None:
    assert client.get("/overview").json()["sample_mandate_id"] is None


@each("part", READS)
@each("mandate_id", [OTHERS, "m_aaaaaaaaaa"])
def test_other_mandates__want_a_credential_whether_they_exist_or_not(
    seeded: None, client: TestClient, mandate_id: str, part: str
) -> None:
    answer = read(client, mandate_id, part)
    assert (answer.status_code, answer.json()["service"]["reason"]) == (401, "auth_required")
    assert mandate_id not in answer.text


@each("part", READS)
def test_the_samples_id__wants_a_credential_while_nothing_is_seeded(
    client: TestClient, part: str
) -> None:
    assert read(client, SAMPLE_ID, part).status_code == 401


def test_sample__cannot_be_moved_by_anybody(seeded: None, client: TestClient) -> None:
    for method, path in (
        ("GET", "/terms"),
        ("POST", "/cancel"),
        ("POST", "/stop"),
        ("GET", "/record"),
    ):
        answer = client.request(method, f"/mandate-wallet/mandates/{SAMPLE_ID}{path}")
        assert answer.status_code == 401, path
