"""Wallet document 2.17 on the wallet's own routes: one first answer a key, and nothing written
twice.
"""

from typing import Any

import pytest

from tests.integration.api.mandates.stage import ADAPTER, DRAFT, Stage, reason

TX = "0x" + "ab" * 32
LONGEST = "aZ09._:-" * 16


def send(
    stage: Stage, path: str, key: str, body: dict[str, Any], who: dict[str, str] | None = None
) -> Any:
    return stage.call("POST", path, (who or stage.agent) | {"Idempotency-Key": key}, body)


def rows(stage: Stage, mandate_id: str) -> int:
    return len(stage.get(f"/mandates/{mandate_id}/ledger", stage.owner, limit=200)["events"])


@pytest.mark.row("2.17 key", "8 idempotency key")
@pytest.mark.parametrize(
    ("key", "status"),
    [("a", 200), (LONGEST, 200), (LONGEST + "a", 400), ("a b", 400), ("a/b", 400), ("", 400)],
)
def test_a_key__is_1_to_128_letters_digits_and_four_signs(
    stage: Stage, key: str, status: int
) -> None:
    answer = send(stage, f"/mandates/{stage.working()}/events", key, {"kind": "note"})
    assert answer.status_code == status
    if status == 400:
        assert (
            answer.json()["detail"]
            == "Idempotency-Key: write 1 to 128 characters from letters, digits and . _ : -"
        )


@pytest.mark.row(
    "6 retries with the same key replay",
    "2.17 the same key and body replays",
    "2.17 the same key with another body is refused",
    "6 retries with the same key replay",
)
@pytest.mark.parametrize(
    ("route", "body", "other"),
    [
        (
            "events",
            {"kind": "buy", "amount_usdc": "10", "payload": {"target": ADAPTER}},
            {"amount_usdc": "11"},
        ),
        ("events", {"kind": "buy", "amount_usdc": "999"}, {"amount_usdc": "998"}),
        ("refusals", {"reason": "OverPerTxCap", "tx_hash": TX}, {"reason": "OverDailyCap"}),
        ("accept", {}, None),
        ("stop", {}, None),
    ],
    ids=["event", "flagged event", "refusal", "accept", "stop"],
)
def test_each_write_of_a_mandate__is_answered_as_the_first_time(
    stage: Stage, route: str, body: dict[str, Any], other: dict[str, Any] | None, mandate_id: str
) -> None:
    path = f"/mandates/{mandate_id}/{route}"
    first = send(stage, path, "k", body)
    assert first.status_code in (200, 202) and "Idempotent-Replay" not in first.headers
    written = rows(stage, mandate_id)
    stage.clock.pass_(minutes=1)
    again = send(stage, path, "k", body)
    assert (again.status_code, again.json(), again.headers["Idempotent-Replay"]) == (
        first.status_code,
        first.json(),
        "true",
    )
    if other is not None:
        assert reason(send(stage, path, "k", body | other)) == (409, "idempotency_key_reused")
    assert rows(stage, mandate_id) == written


@pytest.mark.row("2.17 scope")
def test_a_key__is_of_its_caller_route_and_mandate(stage: Stage) -> None:
    first, second = stage.working(), stage.working()
    note = {"kind": "note", "why": "x"}
    assert send(stage, f"/mandates/{first}/events", "k", note).status_code == 200
    for path, body, who in (
        (f"/mandates/{second}/events", note, stage.agent),
        (f"/mandates/{first}/refusals", {"reason": "MandateEnded"}, stage.agent),
        (f"/mandates/{first}/accept", {}, stage.agent),
        ("/mandates", DRAFT, stage.owner),
    ):
        answer = send(stage, path, "k", body, who)
        assert answer.status_code in (200, 201) and "Idempotent-Replay" not in answer.headers, path


@pytest.mark.row("2.17 a key is released when the write is refused or fails")
def test_a_refused_writes_key__is_free_for_another_body(stage: Stage) -> None:
    path = f"/mandates/{stage.working()}/events"
    assert reason(send(stage, path, "k", {"kind": "gift"})) == (400, "invalid_parameter")
    assert reason(send(stage, path, "k", {"kind": "note", "amount_usdc": "1e3"})) == (
        400,
        "invalid_number",
    )
    answer = send(stage, path, "k", {"kind": "note"})
    assert answer.status_code == 200 and "Idempotent-Replay" not in answer.headers
