"""The journey by HTTP, of what is in the database (docs/fund.md#the-journey)."""

from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.fund.rules.frozen import FundKind
from core.fund.tables import FundVault
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import Follower, vault_with

DAY_S = 86_400
NODES = [
    "register",
    "link_wallet",
    "first_earn",
    "apply",
    "pilot",
    "track_record",
    "request_creation",
    "vault",
]


def states(said: dict[str, Any]) -> dict[str, str]:
    return {one["node"]: one["state"] for one in said["nodes"]}


def pilot(deps: Deps, clock: Clock, maker: Follower, kind: FundKind = FundKind.SPOT) -> int:
    vault_id = vault_with(deps, clock, kind)
    with deps.database.write() as session:
        owned = update(FundVault).where(FundVault.id == vault_id)
        session.execute(owned.values(maker_id=maker.user_id))
    return vault_id


def test_signed_out__it_is_an_example_of_eight_nodes(client: TestClient) -> None:
    said = client.get("/fund/me/journey").json()
    assert (said["example"], list(states(said))) == (True, NODES)
    assert (said["spot_pilot_days"], said["perp_record_days"], said["vault_id"]) == (14, 30, None)


def test_next__has_the_calls_of_what_is_not_done(client: TestClient, follower: Follower) -> None:
    """Signed out all of it, of an example."""
    out = {one["node"]: one for one in client.get("/fund/me/journey").json()["nodes"]}
    mine = {one["node"]: one for one in follower.get("/fund/me/journey").json()["nodes"]}
    assert [one["path"] for one in out["register"]["next"]] == ["/auth/agent/connect"]
    assert mine["register"]["next"] == []
    nonce, link = mine["link_wallet"]["next"]
    assert (nonce["path"], nonce["body"]["purpose"]) == ("/auth/wallet/nonce", "link")
    assert (link["path"], link["auth"]) == ("/auth/wallet/link", "bearer")
    # without an index that has constituents, and without a pilot, nothing can be filled in
    assert [one["path"] for one in mine["apply"]["next"]] == ["/fund/indices"]
    assert mine["request_creation"]["next"] == []


def test_a_new_agent__is_registered_and_nothing_else(follower: Follower) -> None:
    said = follower.get("/fund/me/journey").json()
    assert "example" not in said
    assert states(said) == dict.fromkeys(NODES, "next") | {"register": "done"}


@pytest.mark.slow
def test_every_api_of_a_node__is_a_call_that_there_is(follower: Follower) -> None:
    nodes = {one["node"]: one for one in follower.get("/fund/me/journey").json()["nodes"]}
    assert nodes["apply"]["cost"] == "bond"
    paths = follower.client.get("/openapi.json").json()["paths"]
    for node in nodes.values():
        one = paths[node["api"]["endpoint"]][node["api"]["method"].lower()]
        assert node["manual_href"].endswith("/docs#" + one["operationId"])
    assert nodes["register"]["api"]["mcp_tool"] == "agent_connect"


@pytest.mark.parametrize("kinds", [(FundKind.PERP, FundKind.SPOT), (FundKind.SPOT, FundKind.PERP)])
def test_a_spot_pilot__counts_before_a_perp_one(
    follower: Follower, deps: Deps, clock: Clock, markets: None, kinds: tuple[FundKind, ...]
) -> None:
    made = {kind: pilot(deps, clock, follower, kind) for kind in kinds}
    said = follower.get("/fund/me/journey").json()
    assert said["vault_id"] == made[FundKind.SPOT]
    endpoint = {one["node"]: one["api"] for one in said["nodes"]}["pilot"]["endpoint"]
    assert endpoint == f"/fund/vaults/{made[FundKind.SPOT]}"
