"""Claims about tokens, from the call to the note's section."""

from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from api.areas.claims.rules.claims import ClaimKind, ClaimState
from api.areas.claims.tables import KgClaim
from api.areas.notes.views import facts_of
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import KEY, Clock, Limit, connect

SOURCE = "https://blog.example/post"


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


def claim(
    client: TestClient, agent: dict[str, str], said: str = "It has a dog.", **more: Any
) -> Any:
    body = {"base": "link", "claim": said, "source_url": SOURCE, "kind": "project"} | more
    return client.post("/kg/claim", json=body, headers=agent)


def decide(client: TestClient, operator: dict[str, str], id_: int, verdict: str) -> Any:
    path = f"/admin/kg/claims/{id_}/verdict"
    return client.post(path, json={"verdict": verdict, "note": "I looked."}, headers=operator)


def test_a_claim__is_shown_as_unverified_and_no_fact(
    client: TestClient, agent: dict[str, str]
) -> None:
    made = claim(client, agent)
    assert made.status_code == 201, made.text
    assert made.json() == {
        "claim_id": made.json()["claim_id"],
        "base": "LINK",
        "kind": "project",
        "claim": "It has a dog.",
        "source_url": SOURCE,
        "state": "unverified",
        "is_fact": False,
        "agent_id": made.json()["agent_id"],
        "made_at": "2026-11-21T12:00:00Z",
        "decided_at": None,
    }
    assert client.get("/kg/claims", params={"base": "LINK"}).json()["claims"] == [made.json()]


@each(
    "changes",
    [
        {"source_url": "javascript:alert(1)"},
        {"source_url": None},
        {"source_url": ""},
        {"base": "../x"},
        {"base": "A" * 33},
        {"kind": "fact"},
        {"claim": "a\u202eb"},
        {"is_fact": True},
    ],
)
def test_a_claim_that_breaks_a_rule__is_refused_and_nothing_is_kept(
    client: TestClient, agent: dict[str, str], changes: dict[str, Any]
) -> None:
    assert claim(client, agent, **changes).status_code == 400
    assert client.get("/kg/claims").json() == {"claims": [], "next_cursor": None}


def test_a_claim_without_a_source__names_the_field(
    client: TestClient, agent: dict[str, str]
) -> None:
    refused = client.post("/kg/claim", json={"base": "LINK", "claim": "x"}, headers=agent)
    assert refused.status_code == 400
    assert "source_url" in refused.json()["detail"]


def test_a_person__makes_so_many_a_day_and_more_the_next(limited: Limit, clock: Clock) -> None:
    client = limited(claims_per_person_per_day=1)
    agent = {KEY: str(connect(client)["api_key"])}
    assert claim(client, agent).status_code == 201
    refused = claim(client, agent, "Another.")
    assert refused.status_code == 429
    assert refused.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    clock.pass_(hours=12)
    assert claim(client, agent, "Another.").status_code == 201


def test_an_operator__sees_it_in_the_queue_and_verifies_it(
    client: TestClient, agent: dict[str, str], operator: dict[str, str]
) -> None:
    made = claim(client, agent).json()
    waiting = client.get("/admin/queue", params={"kind": "kg_claim"}, headers=operator).json()
    assert waiting["items"][0]["kg_claim"]["claim"] == "It has a dog."
    verdict = decide(client, operator, made["claim_id"], "verified")
    assert verdict.json()["state"] == "verified"
    assert client.get("/kg/claims").json()["claims"][0]["state"] == "verified"
    assert (
        client.get("/admin/queue", params={"kind": "kg_claim"}, headers=operator).json()["items"]
        == []
    )


def test_a_rejected_claim__is_shown_nowhere_and_can_be_verified_after_all(
    client: TestClient, agent: dict[str, str], operator: dict[str, str], database: Database
) -> None:
    id_ = claim(client, agent).json()["claim_id"]
    assert decide(client, operator, id_, "rejected").status_code == 200
    assert client.get("/kg/claims").json()["claims"] == []
    again = decide(client, operator, id_, "rejected")
    assert (again.status_code, again.json()["service"]["reason"]) == (409, "wrong_status")
    assert decide(client, operator, id_, "verified").status_code == 200
    with database.read() as session:
        rows = session.execute(text("select verdict from kg_claim_verdict order by id")).scalars()
        assert list(rows) == ["rejected", "verified"]


def test_a_rejected_claim_that_somebody_made_again__is_not_verified_beside_it(
    client: TestClient, agent: dict[str, str], operator: dict[str, str]
) -> None:
    first = claim(client, agent).json()["claim_id"]
    decide(client, operator, first, "rejected")
    other = {KEY: str(connect(client)["api_key"])}
    assert claim(client, other).status_code == 201
    refused = decide(client, operator, first, "verified")
    assert (refused.status_code, refused.json()["service"]["reason"]) == (409, "same_claim")


def test_a_rejected_claim__is_not_made_again_by_who_made_it(
    client: TestClient, agent: dict[str, str], operator: dict[str, str]
) -> None:
    first = claim(client, agent).json()["claim_id"]
    decide(client, operator, first, "rejected")
    for said in ("It has a dog.", "IT  HAS A DOG.", "It has a \uff44og."):
        refused = claim(client, agent, said)
        assert (refused.status_code, refused.json()["service"]["reason"]) == (409, "same_claim")
        assert f"claim {first} already says the same and was rejected" in refused.json()["detail"]
    assert client.get("/kg/claims").json()["claims"] == []
    assert claim(client, agent, base="BTC").status_code == 201


def test_a_claim_of_a_ticker_in_another_form__is_in_the_note_of_that_ticker(
    client: TestClient, agent: dict[str, str]
) -> None:
    assert claim(client, agent, base="cafe\u0301").json()["base"] == "CAF\u00c9"
    assert "It has a dog." in client.get("/kg/caf\u00e9.md").text
    assert len(client.get("/kg/claims", params={"base": "CAFE\u0301"}).json()["claims"]) == 1


def test_a_claim_that_is_not_there__is_404(client: TestClient, operator: dict[str, str]) -> None:
    assert decide(client, operator, 999, "verified").status_code == 404


def test_claims__are_paged_newest_first(client: TestClient, agent: dict[str, str]) -> None:
    ids = [claim(client, agent, f"Claim {n}.").json()["claim_id"] for n in range(3)]
    first = client.get("/kg/claims", params={"limit": 2}).json()
    assert [one["claim_id"] for one in first["claims"]] == ids[:0:-1]
    last = client.get("/kg/claims", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [one["claim_id"] for one in last["claims"]] == ids[:1]


def test_a_note__gets_one_unverified_claim_of_a_person_and_twenty_verified_ones(
    client: TestClient, database: Database, clock: Clock
) -> None:
    agent_id = int(connect(client)["user_id"])
    with database.write() as session:
        for n in range(60):
            is_verified = n < 25
            session.add(
                KgClaim(
                    token="LINK",
                    kind=ClaimKind.EVENT.value,
                    claim=f"Claim {n}.",
                    words=f"claim {n}.",
                    source_url=SOURCE,
                    agent_id=agent_id,
                    person=f"agent:{n // 2}",
                    state=(ClaimState.VERIFIED if is_verified else ClaimState.UNVERIFIED).value,
                    made_at=clock.now,
                )
            )
    with database.read() as session:
        found = facts_of(session, "LINK", clock.now).claims
    assert [one.text for one in found[:3]] == ["Claim 59.", "Claim 57.", "Claim 55."]
    assert sum(one.is_verified for one in found) == 20
    assert sum(not one.is_verified for one in found) == 10
    numbers = [int(one.text.removeprefix("Claim ").rstrip(".")) for one in found]
    assert numbers == sorted(numbers, reverse=True)
    with database.read() as session:
        assert facts_of(session, "BTC", clock.now).claims == ()


def test_a_group_without_standing__has_so_many_claims_waiting(
    limited: Limit, operator: dict[str, str], database: Database
) -> None:
    """However many agents it registers: nobody fills the operators' queue alone."""
    client = limited("203.0.113.9", open_entries_without_standing=2)
    ring = [{KEY: str(connect(client)["api_key"])} for _ in range(3)]
    ids = [claim(client, ring[n], f"Claim {n}.").json()["claim_id"] for n in range(2)]
    refused = claim(client, ring[2], "Claim 2.")
    assert (refused.status_code, refused.json()["error"]) == (409, "too_many_open")
    assert refused.json()["detail"].startswith("2 claims of your group ")
    decide(client, operator, ids[0], "verified")
    assert claim(client, ring[2], "Claim 2.").status_code == 201
    assert claim(client, ring[0], "Claim 3.").status_code == 409
    stranger = {KEY: str(connect(limited("203.0.113.10"))["api_key"])}
    assert claim(client, stranger, "Claim 3.").status_code == 201
    agent_id = client.get("/kg/claims").json()["claims"][0]["agent_id"]
    with database.write() as session:
        session.execute(text("insert into earn_standing values (:id, 3)"), {"id": agent_id})
    assert [claim(client, stranger, f"Claim {n}.").status_code for n in range(4, 8)] == [201] * 4


def test_a_claim_of_before_the_rules_of_texts__is_shown_escaped_in_lists_and_notes(
    client: TestClient, agent: dict[str, str], database: Database
) -> None:
    assert claim(client, agent).status_code == 201
    with database.write() as session:
        session.execute(text("update kg_claim set claim = :claim"), {"claim": "a \u202egod\u200b"})
    listed = client.get("/kg/claims", params={"base": "LINK"})
    assert listed.json()["claims"][0]["claim"] == "a \\u{202e}god\\u{200b}"
    assert "\u202e" not in listed.text
    note = client.get("/kg/LINK.md").text
    assert "a \\\\u\\{202e\\}god\\\\u\\{200b\\}" in note
    assert not {"\u202e", "\u200b"} & set(note)
