"""What operators see of what waits for them."""

from tests.each import each
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, EVIDENCE, LINK, Mine, entry, key


def test_the_queue__shows_whole_values_and_evidence_oldest_first(mine: Mine) -> None:
    first = mine.submit(mine.agent, CHAIN, CONTRACT)
    second = mine.submit(mine.agent, entry("website_url", "https://chain.link/"))
    page = mine.client.get("/admin/queue", params={"limit": 2}, headers=mine.operator).json()
    assert page["kind"] == "submission"
    assert page["items"][1] == {
        "id": first["entries"][1]["entry_id"],
        "at": "2026-11-21T12:00:00Z",
        "submission": {
            "submission_id": first["submission_id"],
            "entry_id": first["entries"][1]["entry_id"],
            "token_id": "binance_link_usdt",
            "exchange": "binance",
            "symbol": "LINK/USDT",
            "field_name": "contract_address",
            "field_value": LINK,
            "chain": "ethereum",
            "evidence_url": EVIDENCE,
            "submitter_id": mine.agent["user_id"],
            "submitter": "quant",
            "task_id": first["entries"][1]["task_id"],
            "proofs": 0,
            "gold": False,
        },
    }
    rest = mine.client.get(
        "/admin/queue", params={"limit": 2, "cursor": page["next_cursor"]}, headers=mine.operator
    ).json()
    assert [one["id"] for one in rest["items"]] == [second["entries"][0]["entry_id"]]
    assert rest["next_cursor"] is None
    mine.reject(second)
    assert len(mine.client.get("/admin/queue", headers=mine.operator).json()["items"]) == 2


@each("kind", ["proof", "claim", "application", "vault_request", "bond", "kg_claim"])
def test_the_queue_of_another_kind__is_empty_while_nothing_waits(mine: Mine, kind: str) -> None:
    answer = mine.client.get("/admin/queue", params={"kind": kind}, headers=mine.operator)
    assert answer.json() == {"kind": kind, "items": [], "next_cursor": None}


def test_the_queue_of_an_unknown_kind__is_refused(mine: Mine) -> None:
    answer = mine.client.get("/admin/queue", params={"kind": "all"}, headers=mine.operator)
    assert answer.status_code == 400


def test_claims_and_proofs__are_in_the_queue_until_their_verdict(mine: Mine) -> None:
    task = mine.client.post(
        "/admin/tasks",
        json={
            "category": "survey",
            "title": "Look",
            "points": "1.0",
            "subject": "binance_link_usdt",
        },
        headers=mine.operator,
    )
    assert task.status_code in (200, 201), task.text
    task_id = task.json()["id"] if "id" in task.json() else task.json()["task_id"]
    claimed = mine.client.post(f"/tasks/{task_id}/claim", headers=key(mine.agent))
    assert claimed.status_code in (200, 201), claimed.text

    def waits(kind: str) -> list[str | None]:
        items = mine.client.get("/admin/queue", params={"kind": kind}, headers=mine.operator).json()
        return [one["claim"]["observed_result"] for one in items["items"]]

    assert (waits("claim"), waits("proof")) == ([None], [])
    proof = {
        "task_id": task_id,
        "observed_at": "2026-11-21T11:59:00Z",
        "observed_result": "Done.",
    }
    filed = mine.client.post("/tasks/submit-proof", json=proof, headers=key(mine.agent))
    assert filed.status_code in (200, 201), filed.text
    assert (waits("claim"), waits("proof")) == ([], ["Done."])
