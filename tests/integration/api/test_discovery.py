"""The discovery document and the catalogue: what a program that knows nothing reads first
(docs/rules.md#catalogue-and-discovery).
"""

from eth_account.signers.local import LocalAccount

from api.areas.discovery.schemas import CatalogAnswer
from api.catalogue import catalogue
from tests.integration.api.conftest import KEY, Limit, TestClient, connect, login


def test_the_document__lists_capabilities_every_endpoint_limits_and_instructions(
    client: TestClient,
) -> None:
    document = client.get("/.well-known/service.json").json()
    assert {"capabilities", "endpoints", "rate_limits", "instructions"} <= document.keys()
    shown = [
        (one["method"], one["path"], one["auth"])
        for one in document["endpoints"]
        if not one["path"].endswith("/probe")
    ]
    assert shown == [(row.method, row.path, row.auth.name) for row in catalogue().operations]
    assert all(set(one) == {"method", "path", "auth"} for one in document["endpoints"])
    assert not {"webhooks", "oauth", "approval_link", "signed_receipts"} & set(
        document["capabilities"]
    )


def test_both_ceilings__are_published_and_one_is_enforced(limited: Limit) -> None:
    limits = (
        limited(daily_ceiling=7)
        .get("/.well-known/service.json")
        .json()["rate_limits"]["calls_per_key_and_utc_day"]
    )
    assert limits["enforced"] == {"free": 7, "plus": 5_000, "pro": 10_000}
    assert limits["payment_section"] == {"free": 2_000, "plus": 5_000, "pro": 10_000}
    assert limits["tier_table"] == {"free": 100, "tier_1": 5_000, "tier_2": 50_000}


def test_the_catalogue__lists_every_call_once(client: TestClient) -> None:
    calls = client.get("/agent/catalog").json()["calls"]
    shown = [(one["method"], one["path"]) for one in calls if not one["path"].endswith("/probe")]
    assert shown == [(one.method, one.path) for one in catalogue().operations]


def test_the_catalogue__says_of_each_key_what_it_may_call(
    client: TestClient, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    agent = connect(client, owner)
    path = f"/agents/{agent['user_id']}/scopes"

    def allowed(scopes: list[str] | None) -> set[str]:
        assert client.put(path, json={"scopes": scopes}, headers=owner).status_code == 200
        calls = client.get("/agent/catalog", headers={KEY: agent["api_key"]}).json()["calls"]
        return {one["path"] for one in calls if one["method"] == "GET" and one["allowed"]}

    me, status = "/mandate-wallet/agents/me", "/agent/status"
    assert {me, status} <= allowed(None)
    assert me not in allowed([])
    assert status in allowed([])
    assert me in allowed(["spend", "read"])
    assert allowed(["read", "spend"]) == allowed(["spend", "read"])


def test_the_catalogue__is_what_its_model_declares(client: TestClient) -> None:
    body = client.get("/agent/catalog").json()
    assert CatalogAnswer.model_validate(body).model_dump(mode="json") == body
    assert {one["allowed"] for one in body["calls"]} == {None}
