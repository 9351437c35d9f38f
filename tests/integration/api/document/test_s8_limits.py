"""Section 8 of the document, and the other rules of section 7: each figure at its boundary, by HTTP
and as a tool's call.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.operation import Deps, Family
from core.db.embedded import EmbeddedPostgres
from tests.integration.api.conftest import connect, reason
from tests.integration.api.document.refusal_cases import (
    DOORS,
    WALLET,
    Attempt,
    Scene,
    by_http,
    set_up,
    use_up_calls,
)
from tests.integration.api.mandates.stage import Stage

HIGHEST = "1000000000000.000000"


@pytest.fixture
def scene(
    stage: Stage, deps: Deps, postgres: EmbeddedPostgres, database_url: str
) -> Iterator[Scene]:
    with set_up(stage, deps, postgres, database_url) as ready:
        yield ready


def reporting(scene: Scene, mandate_id: str, **fields: Any) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/events"
    ids = {"id": mandate_id}
    return Attempt(
        method="POST",
        path=path,
        who=scene.stage.agent,
        ids=ids,
        fields=fields,
        tool="mandate_report_event",
    )


def refusing(scene: Scene, mandate_id: str, number: int) -> Attempt:
    path, fields = (
        f"{WALLET}/mandates/{{id}}/refusals",
        {"reason": "OverPerTxCap", "tx_hash": "0x" + f"{number:064x}"},
    )
    ids = {"id": mandate_id}
    return Attempt(
        method="POST",
        path=path,
        who=scene.stage.agent,
        ids=ids,
        fields=fields,
        tool="mandate_report_refusal",
    )


# Counts


@pytest.mark.row("8 requests per key")
@pytest.mark.parametrize("door", DOORS)
def test_the_2000th_call_of_a_keys_day__is_served_and_the_next_is_not(
    scene: Scene, door: str
) -> None:
    listing = Attempt(
        method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list"
    )
    use_up_calls(scene, listing, 1_999)
    answers = [DOORS[door](scene.client, listing) for _ in range(2)]
    assert [one.status for one in answers] == [200, 429]
    assert answers[1].body["detail"].startswith("The 2000 calls of today are used up")
    scene.stage.clock.now = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
    assert by_http(scene.client, listing).status == 429
    scene.stage.clock.pass_(seconds=1)
    assert by_http(scene.client, listing).status == 200


@pytest.mark.slow
@pytest.mark.row("8 refusal reports")
def test_the_60th_refusal_of_a_mandates_day__is_taken_and_the_next_is_not(scene: Scene) -> None:
    first, second = scene.stage.working(), scene.stage.working()
    assert {
        by_http(scene.client, refusing(scene, first, number)).status for number in range(60)
    } == {200}
    for make in DOORS.values():
        told = make(scene.client, refusing(scene, first, 60))
        assert (told.status, told.body["service"]["reason"]) == (429, "rate_limited")
        assert told.body["service"]["remaining"] == {"refusal_reports_today": 0}
        assert told.body["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert by_http(scene.client, refusing(scene, second, 60)).status == 200
    assert by_http(scene.client, refusing(scene, first, 59)).body["is_new"] is False
    scene.stage.clock.now = datetime(2026, 11, 22, tzinfo=UTC)
    assert by_http(scene.client, refusing(scene, first, 60)).body["is_new"] is True


@pytest.mark.row("8 ended_mandates")
@pytest.mark.slow
def test_ended_mandates__are_the_newest_ten(scene: Scene) -> None:
    people, ended = scene.stage, list[str]()
    for _ in range(11):
        ended.append(people.paper())
        people.clock.pass_(minutes=1)
        people.post(f"/mandates/{ended[-1]}/stop", people.agent)
    shown = people.get("/agents/me", people.agent)["agent_status"]["ended_mandates"]
    assert [one["id"] for one in shown] == ended[:0:-1]
    assert [one["ended_at"] for one in shown][:2] == [
        "2026-11-21T12:11:00Z",
        "2026-11-21T12:10:00Z",
    ]


# Forms


@pytest.mark.row("8 idempotency key")
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("key", "status"),
    [("a", 200), ("aZ09._:-" * 16, 200), ("a" * 129, 400), ("a b", 400), ("a/b", 400), ("", 400)],
)
def test_an_idempotency_key__has_1_to_128_of_its_characters(
    scene: Scene, door: str, key: str, status: int
) -> None:
    attempt = reporting(scene, scene.stage.working(), kind="note", why="One.")
    told = DOORS[door](scene.client, replace(attempt, idempotency_key=key))
    assert told.status == status
    if status == 400:
        assert told.body["service"]["reason"] == "invalid_parameter"
        assert (
            told.body["detail"]
            == "Idempotency-Key: write 1 to 128 characters from letters, digits and . _ : -"
        )


@pytest.mark.row("8 agent-sent numbers")
@pytest.mark.parametrize("door", DOORS)
def test_an_agents_number__is_finite_within_a_million_millions_and_has_six_decimals(
    scene: Scene, door: str
) -> None:
    mandate_id = scene.stage.working()
    taken = {
        "0.000001": "0.000001",
        HIGHEST: HIGHEST,
        "-" + HIGHEST: "-" + HIGHEST,
        "12": "12.000000",
    }
    for sent, stored in taken.items():
        told = DOORS[door](
            scene.client, reporting(scene, mandate_id, kind="resolve", amount_usdc=sent)
        )
        assert told.status in (200, 202), told.body
        assert told.body["event"]["amount_usdc"] == stored
    refused = [
        "0.0000001",
        "1000000000000.000001",
        "-1000000000000.000001",
        "NaN",
        "Infinity",
        "1e3",
        "",
        " 1",
        "+1",
        "1,5",
        "0x10",
        "\u0661",
    ]
    for sent in refused:
        told = DOORS[door](
            scene.client, reporting(scene, mandate_id, kind="resolve", amount_usdc=sent)
        )
        assert (told.status, told.body["service"]["reason"]) == (400, "invalid_number"), sent
        assert told.body["detail"].startswith("amount_usdc: ")
    events = scene.stage.get(f"/mandates/{mandate_id}/ledger", scene.stage.agent)["events"]
    assert [one["kind"] for one in events].count("resolve") == len(taken)


@pytest.mark.row("7 a body with a secret-like field is refused 400")
@pytest.mark.parametrize(
    "fields", [{"api_key": "hunter2"}, {"payload": [{"deep": {"exchangeApiSecret": "hunter2"}}]}]
)
def test_a_secret_like_field__is_refused_by_every_wallet_route_whoever_calls(
    scene: Scene, fields: Mapping[str, Any]
) -> None:
    writes = [
        row
        for row in catalogue().operations
        if row.family is Family.WALLET and row.method in ("POST", "PUT")
    ]
    assert len(writes) > 10
    for row in writes:
        path = row.path.format(id="1" if "/agents/" in row.path else "m_aaaaaaaaaa")
        for who in ({}, scene.stage.agent, scene.stage.owner):
            answer = scene.client.request(row.method, path, json=fields, headers=who)
            assert reason(answer) == (400, "secret_field_refused"), row.key
            assert answer.json()["service"]["retry_safe"] is False
            assert "hunter2" not in answer.text


# A mandate's own


@pytest.mark.row("8 close-all stop")
def test_the_owners_stop__is_refused_from_the_end_to_a_second_before_a_day_later(
    scene: Scene,
) -> None:
    people = scene.stage
    mandate_id = people.working()
    path = f"/mandates/{mandate_id}"
    ends_at = datetime(2026, 12, 21, 12, tzinfo=UTC)
    assert people.get(path, people.owner)["mandate"]["ends_at"] == "2026-12-21T12:00:00Z"
    seconds = {-1: None, 0: "settle_grace", 86_399: "settle_grace", 86_400: None}
    for after, refused in seconds.items():
        people.clock.now = datetime.fromtimestamp(ends_at.timestamp() + after, UTC)
        people.chain.mined_at = int(people.clock.now.timestamp())
        people.later()
        call = people.get(f"{path}/stop-call", people.owner)
        assert (call["reason"], call["data"] is None) == (refused, refused is not None), after
        assert call.get("locked_until") == ("2026-12-22T12:00:00Z" if refused else None)
        plan = people.get(f"{path}/close-all-plan", people.owner)
        assert (plan["reason"], plan["steps"][0]["type"] == "stop") == (refused, refused is None), (
            after
        )
        if refused:
            stop = people.call("POST", f"{path}/stop", people.owner, {})
            assert reason(stop) == (409, "wrong_status")
            assert stop.json()["service"]["retry_at"] == "2026-12-22T12:00:00Z"


@pytest.mark.row("8 per-action and per-day caps")
def test_an_empty_cap__is_the_whole_budget(scene: Scene) -> None:
    limits = scene.stage.get(
        f"/mandates/{scene.stage.working(per_tx_cap_usdc=None, daily_cap_usdc=None)}",
        scene.stage.agent,
    )["limits"]
    assert (limits["allowed"]["per_tx_cap_usdc"], limits["allowed"]["daily_cap_usdc"]) == (
        "1000.000000",
        "1000.000000",
    )
    assert limits["used"]["per_action_max"] == {
        "value": "1000.000000",
        "source": "terms",
        "basis": "budget",
    }
    assert limits["used"]["left_today"]["value"] == "1000.000000"


@pytest.mark.row("8 per-action and per-day caps")
def test_a_cap_of_its_own__is_the_mandates(scene: Scene) -> None:
    limits = scene.stage.get(f"/mandates/{scene.stage.working()}", scene.stage.agent)["limits"]
    assert (limits["allowed"]["per_tx_cap_usdc"], limits["allowed"]["daily_cap_usdc"]) == (
        "200.000000",
        "450.000000",
    )
    assert limits["used"]["per_action_max"] == {
        "value": "200.000000",
        "source": "terms",
        "basis": "per_tx_cap",
    }


# Section 7, beside its table


@pytest.mark.row("7 a reported rule break is 202 with violation true")
@pytest.mark.parametrize("door", DOORS)
def test_a_reported_rule_break__is_stored_and_is_no_refusal(scene: Scene, door: str) -> None:
    told = DOORS[door](
        scene.client, reporting(scene, scene.stage.working(), kind="move", amount_usdc="200.000001")
    )
    assert (told.status, told.body["violation"], told.body["recorded"]) == (202, True, True)
    assert "over_per_tx_cap" in told.body["codes"]
    assert "service" not in told.body


@pytest.mark.row("7 a paper report after a stop answers wrong_status with recorded true")
@pytest.mark.parametrize("door", DOORS)
def test_a_paper_report_after_a_stop__is_refused_and_recorded(scene: Scene, door: str) -> None:
    mandate_id = scene.stage.paper()
    scene.stage.post(f"/mandates/{mandate_id}/stop", scene.stage.agent)
    told = DOORS[door](
        scene.client, reporting(scene, mandate_id, kind="buy", amount_usdc="1.000000")
    )
    assert (told.status, told.body["service"]["reason"], told.body["service"]["retry_safe"]) == (
        409,
        "wrong_status",
        False,
    )
    assert (told.body["recorded"], told.body["codes"]) == (True, ["mandate_stopped"])
    steps = scene.stage.get(f"/mandates/{mandate_id}", scene.stage.owner)["steps"]
    assert [step["note"] for step in steps if step["code"] == "refused"] == [
        "Refused: MandateStopped"
    ]


@pytest.mark.row(
    "7 an outbound transfer report above idle is 409 insufficient_idle and writes nothing"
)
@pytest.mark.parametrize("door", DOORS)
def test_an_outbound_transfer_above_idle__writes_nothing(scene: Scene, door: str) -> None:
    fields = {
        "chain_id": 84532,
        "asset": "USDC",
        "amount": "0.000001",
        "tx_hash": "0x" + "ab" * 32,
        "direction": "out",
    }
    path = f"{WALLET}/transfers/report"
    attempt = Attempt(
        method="POST", path=path, who=scene.stage.agent, fields=fields, tool="transfer_report"
    )
    told = DOORS[door](scene.client, attempt)
    assert (told.status, told.body["service"]["reason"], told.body["service"]["remaining"]) == (
        409,
        "insufficient_idle",
        "0.000000",
    )
    assert (
        scene.stage.get(f"/agents/{scene.stage.agent_id}/balances", scene.stage.agent)["balances"]
        == []
    )
    taken = DOORS[door](scene.client, replace(attempt, fields=fields | {"direction": "in"}))
    assert (taken.status, taken.body["transfer"]["status"]) == (200, "reported")


@pytest.mark.row("7 a refusal with rate_limited carries retry_at")
def test_a_registration_too_many__says_when_to_come_again(scene: Scene) -> None:
    for _ in range(9):  # the stage's agent is owned and counts for nothing here
        connect(scene.client)
    connect(scene.client)
    answer = scene.client.post("/auth/agent/connect", json={"agent_name": "quant"})
    assert reason(answer) == (429, "rate_limited")
    assert answer.json()["service"]["retry_at"] == "2026-11-21T12:01:00Z"
    assert answer.headers["Retry-After"] == "60"
