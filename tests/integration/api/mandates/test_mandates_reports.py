from typing import Any

import httpx
import pytest

from core.mandate.rules.new_rows import revert_note
from tests.integration.api.mandates.stage import ADAPTER, USDC, Stage, address

TX = "0x" + "ab" * 32


def report(
    stage: Stage, mandate_id: str, *, key: str | None = None, **fields: Any
) -> httpx.Response:
    body = {
        "kind": "buy",
        "amount_usdc": "10.000000",
        "tx_hash": TX,
        "payload": {"target": ADAPTER},
        **fields,
    }
    headers = stage.agent | ({} if key is None else {"Idempotency-Key": key})
    return stage.call(
        "POST",
        f"/mandates/{mandate_id}/events",
        headers,
        {k: v for k, v in body.items() if v is not None},
    )


def events(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    return list(stage.get(f"/mandates/{mandate_id}/ledger", stage.agent, limit=200)["events"])


# refusals


def chain_revert(stage: Stage, mandate_id: str, proves: int | None = None) -> None:
    at = int(stage.clock.now.timestamp())
    block = "0x" + "77" * 32
    note = revert_note(
        chain_id=84532,
        tx_hash=TX,
        block_number=7,
        block_hash=block,
        at=at,
        reason="OverPerTxCap",
        proves_event_id=proves,
    )
    stage.append(mandate_id, note)


# Positions that the chain does not bear out


def worths(stage: Stage, mandate_id: str) -> tuple[str, str, list[tuple[str, str | None]]]:
    progress = stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]
    return (
        progress["worth_est"],
        progress["worth_source"],
        [(one["id"], one["worth_est"]) for one in progress["positions"]],
    )


@pytest.mark.parametrize(
    "tx_hash", ["0x" + "99" * 32, None], ids=["of no transaction", "without one"]
)
def test_event__of_a_hash_that_the_chain_does_not_have__is_kept_and_moves_no_worth(
    stage: Stage, tx_hash: str | None, mandate_id: str
) -> None:
    held = {
        "target": ADAPTER,
        "position": {"id": "p1", "name": "Unit", "cost_usdc": "1000000.000000"},
    }
    answer = report(stage, mandate_id, tx_hash=tx_hash, payload=held)
    assert answer.status_code == 200, answer.text
    assert "does not change the worth" in answer.json()["notice"]
    assert worths(stage, mandate_id) == ("1000.000000", "cash", [("p1", None)])
    report(
        stage,
        mandate_id,
        kind="note",
        amount_usdc=None,
        tx_hash=None,
        payload={"mark": {"position_id": "p1", "worth_usdc": "5000"}},
    )
    assert worths(stage, mandate_id) == ("1000.000000", "cash", [("p1", None)])
    assert stage.faults(mandate_id) == []


def test_event__reported_again_as_the_notice_says__costs_once(stage: Stage) -> None:
    """The notice of an unseen report says to report it again; whoever did had a position that cost
    twice what left the vault.
    """
    mandate_id = stage.working()
    held = {"target": ADAPTER, "position": {"id": "p1"}}
    report(stage, mandate_id, payload=held)
    stage.executed(mandate_id, 10 * USDC, tx_hash=TX)
    report(stage, mandate_id, payload=held)
    (position,) = stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]["positions"]
    assert (position["cost_usdc"], position["worth_est"]) == ("10.000000", "10.000000")


# Reports that the chain contradicts


def of_tx(stage: Stage, mandate_id: str) -> list[dict[str, Any]]:
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    return [step for step in read["steps"] if step["tx_hash"] == TX]


@pytest.mark.parametrize("is_first", [True, False], ids=["before the scan", "after it"])
def test_event__of_a_reverted_call__is_shown_under_the_refusal_and_confirms_nothing(
    stage: Stage, is_first: bool
) -> None:
    """Found by attack: the trade stood as confirmed on the chain, its position had a worth, and the
    rule that its amount suggested was broken.
    """
    mandate_id = stage.working(approval_above_usdc="20.000000")
    held = {"target": ADAPTER, "position": {"id": "p1", "name": "Unit"}}
    if not is_first:
        chain_revert(stage, mandate_id)
    answer = report(stage, mandate_id, amount_usdc="250", payload=held, why="Bought.")
    assert answer.json()["codes"] == (["over_per_tx_cap"] if is_first else ["tx_reverted"])
    assert answer.status_code == 202 and ("notice" in answer.json())
    if is_first:
        chain_revert(stage, mandate_id)
    refusal, trade = of_tx(stage, mandate_id)
    assert (refusal["code"], refusal["confirmed_on_chain"], refusal["breached"]) == (
        "refused",
        True,
        [2],
    )
    assert (trade["status"], trade["confirmed_on_chain"], trade["params"]["codes"]) == (
        "flagged",
        False,
        ["tx_reverted"],
    )
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    assert all(rule["ok"] for rule in read["progress"]["rules"])
    assert read["limits"]["breaches"]["violations"] == {"count": 0, "codes": []}
    assert worths(stage, mandate_id) == ("1000.000000", "cash", [("p1", None)])
    assert stage.faults(mandate_id) == []


def test_event__of_the_right_transaction_and_another_amount_or_target__is_not_confirmed(
    stage: Stage, mandate_id: str
) -> None:
    early = report(stage, mandate_id, amount_usdc="250")
    assert early.json()["codes"] == ["over_per_tx_cap"]  # until the chain has it
    stage.executed(mandate_id, 10 * USDC, tx_hash=TX)
    assert report(stage, mandate_id).json()["codes"] == []
    assert report(stage, mandate_id, amount_usdc="11").json()["codes"] == ["other_amount"]
    other = report(stage, mandate_id, payload={"target": address(9)}).json()
    assert other["codes"] == ["other_target"]
    assert other["notice"].startswith("The chain contradicts the report: the transaction called")
    assert [
        (step["confirmed_on_chain"], step["params"].get("codes"))
        for step in of_tx(stage, mandate_id)
    ] == [
        (True, None),
        (False, ["other_amount"]),
        (False, ["other_amount"]),
        (False, ["other_target"]),
        (True, None),
    ]
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    assert all(rule["ok"] for rule in read["progress"]["rules"])
    assert read["limits"]["used"]["left_today"]["value"] == "440.000000"
    assert stage.faults(mandate_id) == []


def test_event__that_the_chain_contradicts__asks_for_no_consent(stage: Stage) -> None:
    mandate_id = stage.working(approval_above_usdc="20.000000")
    report(stage, mandate_id, amount_usdc="30", tx_hash=None)
    chain_revert(stage, mandate_id)
    report(stage, mandate_id, amount_usdc="40")
    steps = stage.get(f"/mandates/{mandate_id}", stage.owner)["steps"]
    assert [step["amount_usdc"] for step in steps if step["kind"] == "consent"] == ["30.000000"]
