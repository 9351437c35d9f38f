"""The rules as anybody reads them."""

from tests.integration.api.conftest import TestClient

PATH = "/rules/mandate-vault"


def test_the_rules__are_free_and_named_by_topic(client: TestClient) -> None:
    book = client.get(PATH).json()
    assert book["product"] == "mandate-vault"
    assert book["topics"][0] == "Deposits & withdrawals"
    assert len(book["topics"]) == 11
    assert {rule["topic"] for rule in book["rules"]} == set(book["topics"])
    by_id = {rule["id"]: rule for rule in book["rules"]}
    assert by_id["settle_grace"] == {
        "id": "settle_grace",
        "topic": "Deposits & withdrawals",
        "rule": "From the mandate's end the keeper has this long to settle; then the owner "
        "withdraws without it.",
        "value": "86400",
        "unit": "seconds",
        "enforced_by": "contract constant",
        "source": "ConstantsLib.SETTLE_GRACE",
        "status": "live-testnet",
    }
    assert by_id["supply_auction"]["value"] is None
    assert {one["id"] for one in book["under_review"]} == {
        "settle_grace",
        "payout_point",
    }


def test_a_topic__narrows_rules_and_what_is_under_review(client: TestClient) -> None:
    book = client.get(PATH, params={"topic": "Fees"}).json()
    assert {rule["id"] for rule in book["rules"]} == {"performance_fee", "fee_payee"}
    assert book["under_review"] == []


def test_an_unknown_topic__is_refused_with_the_topics(client: TestClient) -> None:
    answer = client.get(PATH, params={"topic": "Weather"})
    assert answer.status_code == 400
    assert "Supply auction" in answer.json()["detail"]
