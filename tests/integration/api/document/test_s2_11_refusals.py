"""Wallet document 2.11: refused attempts, as the agent reports them and as the chain proves
them.
"""

from typing import Any

import httpx
import pytest

from core.mandate.rules.new_rows import revert_note
from core.mandate.rules.rows import RefusalReason
from tests.integration.api.mandates.stage import ADAPTER, BUY, CHAIN_ID, Stage, reason

TX = "0x" + "cd" * 32
TOMORROW = "2026-11-22T00:00:00Z"


def refuse(stage: Stage, mandate_id: str, **fields: Any) -> httpx.Response:
    return stage.call("POST", f"/mandates/{mandate_id}/refusals", stage.agent, fields)


def reverted(
    stage: Stage, mandate_id: str, name: str, tx_hash: str = TX, proves: int | None = None
) -> None:
    """The block scan found a reverted call."""
    at, block = int(stage.clock.now.timestamp()), "0x" + "77" * 32
    attempted = {"target": ADAPTER, "selector": BUY, "amount_usdc": "250.000000"}
    note = revert_note(
        chain_id=CHAIN_ID,
        tx_hash=tx_hash,
        block_number=7,
        block_hash=block,
        at=at,
        reason=name,
        attempted=attempted,
        proves_event_id=proves,
    )
    stage.append(mandate_id, note)


def notes(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    """Rows of refusals in the raw ledger, oldest first."""
    events = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner, limit=200)["events"]
    return [one for one in reversed(events) if "refusal" in one["payload"]]


def shown(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    return [
        one
        for one in stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"]
        if one["code"] == "refused"
    ]


@pytest.mark.row(
    "2.11 refusal",
    "2.11 reason",
    "4 POST /mandates/{id}/refusals",
    "4.2 a reverted call is reported with the contract reason",
)
@pytest.mark.parametrize("name", [one.value for one in RefusalReason])
def test_each_of_the_six_reasons__is_kept_as_a_note_and_shown(
    stage: Stage, name: str, mandate_id: str
) -> None:
    sent = {"reason": name, "amount_usdc": "250"} | (
        {} if name == "server_guard" else {"tx_hash": TX}
    )
    body = refuse(stage, mandate_id, **sent).json()
    (note,) = notes(stage, mandate_id)
    assert note["payload"] == {
        "refusal": {
            "reason": name,
            "source": "agent",
            "reason_source": "agent",
            "check": "reported",
            "server_check": "unconfirmed",
            "attempted": {"amount_usdc": "250.000000"},
        }
    }
    assert (body["recorded"], body["is_new"], body["refusal"]) == (
        True,
        True,
        note["payload"]["refusal"],
    )
    assert (note["kind"], note["reported_by"], note["tx_hash"]) == (
        "note",
        "agent",
        sent.get("tx_hash"),
    )
    (step,) = shown(stage, mandate_id)
    assert (step["kind"], step["note"], step["reported_by"]) == (
        "action",
        f"Refused: {name}",
        "agent",
    )


@pytest.mark.row("2.11 reason", "2.11 attempted")
def test_a_report_of_another_form__is_refused_and_writes_nothing(
    stage: Stage, mandate_id: str
) -> None:
    for fields in (
        {"reason": "NotAgent"},
        {"reason": "unknown"},
        {},
        {"reason": "MandateEnded", "tx_hash": "0x12"},
    ):
        assert reason(refuse(stage, mandate_id, **fields)) == (400, "invalid_parameter")
    for amount in ("-1", "1.0000001", "1e3"):
        assert reason(refuse(stage, mandate_id, reason="OverPerTxCap", amount_usdc=amount)) == (
            400,
            "invalid_number",
        )
    assert notes(stage, mandate_id) == []
    assert (
        "attempted"
        not in refuse(stage, mandate_id, reason="MandateEnded", tx_hash=TX).json()["refusal"]
    )


@pytest.mark.row(
    "2.11 reason unknown for chain-found reverts",
    "2.11 source",
    "2.11 reason_source",
    "2.11 check",
    "2.11 attempted",
)
def test_a_revert_that_the_chain_shows__has_the_chains_source_and_reads_unknown_outside_the_six(
    stage: Stage, mandate_id: str
) -> None:
    reverted(stage, mandate_id, "NotAgent")
    reverted(stage, mandate_id, "OverDailyCap", tx_hash="0x" + "ce" * 32)
    unknown, known = (note["payload"]["refusal"] for note in notes(stage, mandate_id))
    assert (unknown["reason"], unknown["source"], unknown["reason_source"], unknown["check"]) == (
        "unknown",
        "chain",
        "unknown",
        "block_scan",
    )
    assert (known["reason"], known["source"], known["reason_source"], known["check"]) == (
        "OverDailyCap",
        "chain",
        "chain",
        "block_scan",
    )
    assert known["attempted"] == {"target": ADAPTER, "selector": BUY, "amount_usdc": "250.000000"}
    assert [one["note"] for one in shown(stage, mandate_id)] == [
        "Refused: OverDailyCap",
        "Refused: unknown",
    ]


@pytest.mark.row("2.11 an agent's report proven later is shown once", "2.11 proves_event_id")
def test_a_report_that_is_proven_later__is_two_rows_and_one_step(
    stage: Stage, mandate_id: str
) -> None:
    reported = refuse(
        stage, mandate_id, reason="OverPerTxCap", tx_hash=TX, amount_usdc="250"
    ).json()["event"]["id"]
    reverted(stage, mandate_id, "OverPerTxCap", proves=reported)
    agents, chains = notes(stage, mandate_id)
    assert (agents["id"], agents["reported_by"], agents["payload"]["refusal"]["source"]) == (
        reported,
        "agent",
        "agent",
    )
    assert (
        chains["reported_by"],
        chains["payload"]["reverted"],
        chains["payload"]["proves_event_id"],
    ) == ("chain", True, reported)
    (step,) = shown(stage, mandate_id)
    assert (step["params"]["source"], step["params"]["check"], step["reported_by"],
        step["confirmed_on_chain"]) == (
        "chain", "block_scan", "chain", True,
    )  # fmt: skip
    breaches = stage.get(f"/mandates/{mandate_id}", stage.agent)["limits"]["breaches"]
    assert (breaches["refusals"]["count"], breaches["reverts"]["count"]) == (1, 1)
    assert stage.faults(mandate_id) == []


@pytest.mark.row("2.11 one row per tx hash per mandate")
def test_a_transaction__is_one_refusal_in_each_mandate_whatever_is_said_of_it_again(
    stage: Stage,
) -> None:
    first, second = stage.working(), stage.working()
    told = refuse(stage, first, reason="OverPerTxCap", tx_hash=TX).json()
    again = refuse(
        stage, first, reason="OverDailyCap", tx_hash="0x" + "CD" * 32, amount_usdc="7"
    ).json()
    assert (again["is_new"], again["event"]["id"], again["refusal"]["reason"]) == (
        False,
        told["event"]["id"],
        "OverPerTxCap",
    )
    assert refuse(stage, second, reason="OverPerTxCap", tx_hash=TX).json()["is_new"] is True
    assert (len(notes(stage, first)), len(notes(stage, second))) == (1, 1)
    third = stage.working()
    reverted(stage, third, "TargetNotAllowed")
    after = refuse(stage, third, reason="OverPerTxCap", tx_hash=TX).json()
    assert (after["is_new"], after["refusal"]["reason"], len(notes(stage, third))) == (
        False,
        "TargetNotAllowed",
        1,
    )


@pytest.mark.slow
@pytest.mark.row("2.11 60 refusal reports a day", "8 refusal reports")
def test_sixty_reports_a_day__for_each_mandate__and_the_chain_and_other_rows_count_none(
    stage: Stage,
) -> None:
    first, second = stage.working(), stage.working()
    reverted(stage, first, "NotAgent")
    stage.post(f"/mandates/{first}/events", stage.agent, {"kind": "note"})
    for n in range(59):
        assert (
            refuse(stage, first, reason="OverPerTxCap", tx_hash="0x" + f"{n:064x}").status_code
            == 200
        )
    assert refuse(stage, first, reason="server_guard").status_code == 200
    answer = refuse(stage, first, reason="OverPerTxCap", tx_hash="0x" + f"{60:064x}")
    service = answer.json()["service"]
    assert (answer.status_code, service["reason"], service["retry_safe"], service["retry_at"]) == (
        429,
        "rate_limited",
        True,
        TOMORROW,
    )
    assert refuse(stage, second, reason="OverPerTxCap", tx_hash=TX).status_code == 200
    assert len(notes(stage, first)) == 61
    stage.clock.pass_(hours=11, minutes=59, seconds=59)
    assert (
        refuse(stage, first, reason="OverPerTxCap", tx_hash="0x" + f"{60:064x}").status_code == 429
    )
    stage.clock.pass_(seconds=1)
    assert (
        refuse(stage, first, reason="OverPerTxCap", tx_hash="0x" + f"{60:064x}").status_code == 200
    )
