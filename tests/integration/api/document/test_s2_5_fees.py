"""Mandate wallet 2.5: what was paid, by class, and the two net figures."""

from typing import Any

import pytest

from core.mandate.rules import events as ev
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import KEEPER, USDC, Stage

KINDS = {
    "x402": "tools",
    "tools": "tools",
    "paid_read": "tools",
    "venue": "venue",
    "gas": "network",
    "network": "network",
}


def fee(stage: Stage, mandate_id: str, amount: str, kind: Any = None) -> None:
    payload = {} if kind is None else {"fee_kind": kind}
    stage.post(
        f"/mandates/{mandate_id}/events",
        stage.agent,
        {"kind": "fee", "amount_usdc": amount, "payload": payload},
    )


def fees_of(stage: Stage, mandate_id: str) -> dict[str, Any]:
    return dict(stage.get(f"/mandates/{mandate_id}", stage.owner)["fees"])


@pytest.mark.parametrize(("kind", "field"), KINDS.items())
@pytest.mark.row(
    "2.5 tools", "2.5 venue", "2.5 network", "2.5 a fee event is classed by payload.fee_kind"
)
def test_fee__of_a_known_kind__is_in_its_class_alone(stage: Stage, kind: str, field: str) -> None:
    mandate_id = stage.paper()
    fee(stage, mandate_id, "1.5", kind)
    shown = fees_of(stage, mandate_id)
    others = dict.fromkeys(("tools", "venue", "network"), "0.000000")
    assert {name: shown[name] for name in others} == {**others, field: "1.500000"}
    assert shown["unclassified"] == {
        "amount": "0.000000",
        "count": 0,
        "source": "fee_events_without_fee_kind",
    }


@pytest.mark.row(
    "2.5 unclassified", "2.5 without a fee_kind it is unclassified, never venue", "2.5 venue"
)
def test_fee__without_a_known_kind__is_unclassified_and_never_the_venues(stage: Stage) -> None:
    mandate_id = stage.paper()
    for amount, kind in (("1", None), ("2", "commission"), ("4", 7), ("8", "Venue")):
        fee(stage, mandate_id, amount, kind)
    shown = fees_of(stage, mandate_id)
    assert shown["unclassified"] == {
        "amount": "15.000000",
        "count": 4,
        "source": "fee_events_without_fee_kind",
    }
    assert (shown["tools"], shown["venue"], shown["network"]) == (
        "0.000000",
        "0.000000",
        "0.000000",
    )
    assert shown["realized_total"] == "15.000000"


@pytest.mark.row(
    "2.5 tools", "2.5 venue", "2.5 network", "2.5 unclassified", "2.5 agent_fee",
    "2.5 realized_total", "2.5 net_after_fees_est",
    "2.5 net_after_fees_realized", "2.5 the two net figures are never summed",
)  # fmt: skip
def test_fees__of_a_paper_mandate_with_a_gain__to_the_last_digit(stage: Stage) -> None:
    mandate_id = stage.paper()
    path = f"/mandates/{mandate_id}/events"
    for amount, kind in (("1", "tools"), ("2", "venue"), ("0.5", "gas"), ("0.25", None)):
        fee(stage, mandate_id, amount, kind)
    position = {"target": KEEPER, "position": {"id": "p1"}}
    stage.post(
        path, stage.agent, {"kind": "buy", "amount_usdc": "100", "payload": position}, status=202
    )
    stage.post(path, stage.agent, {"kind": "resolve", "amount_usdc": "30", "payload": position})
    shown = fees_of(stage, mandate_id)
    assert shown == {
        "tools": "1.000000",
        "venue": "2.000000",
        "network": "0.500000",
        "unclassified": {"amount": "0.250000", "count": 1, "source": "fee_events_without_fee_kind"},
        "agent_fee": {"reserved_est": "2.625000", "paid": "0.000000", "paid_source": "none"},
        "realized_total": "3.750000",
        "net_after_fees_est": {
            "value": "23.625000",
            "est": True,
            "source": "cash",
            "pct": "2.36",
            "formula": "worth_est + withdrawn - deposited - agent_fee_reserved",
        },
        "net_after_fees_realized": {
            "value": "26.250000",
            "est": False,
            "formula": "sum(resolve) - sum(fee) - sum(payout)",
        },
    }


@pytest.mark.row(
    "2.5 agent_fee", "2.5 realized_total", "2.5 net_after_fees_est", "2.5 net_after_fees_realized"
)
def test_agent_fee__is_an_estimate_until_the_vault_settles_and_then_what_the_vault_paid(
    live: Live,
) -> None:
    mandate_id, vault = live.working()
    live.execute(mandate_id, "buy(uint256)", 200)
    live.price(1_500_000)
    live.execute(mandate_id, "sell(uint256)", 200)
    before = live.read(mandate_id)["fees"]
    assert before["agent_fee"] == {
        "reserved_est": "10.000000",
        "paid": "0.000000",
        "paid_source": "none",
    }
    assert (before["net_after_fees_est"]["value"], before["net_after_fees_est"]["pct"]) == (
        "90.000000",
        "9.00",
    )
    live.send_owners(mandate_id, "stop-call")
    live.settle(vault)
    after = live.read(mandate_id)["fees"]
    assert after["agent_fee"] == {
        "reserved_est": "0.000000",
        "paid": "10.000000",
        "paid_source": "payout_rows",
    }
    assert (after["realized_total"], after["net_after_fees_est"]["value"]) == (
        "10.000000",
        "90.000000",
    )
    assert after["net_after_fees_realized"]["value"] == "90.000000"


@pytest.mark.row("2.5 net_after_fees_est")
def test_pct__of_nothing_deposited__is_unknown(stage: Stage) -> None:
    shown = fees_of(stage, stage.signed())
    assert (shown["net_after_fees_est"]["value"], shown["net_after_fees_est"]["pct"]) == (
        "0.000000",
        None,
    )


@pytest.mark.row("2.5 tools", "2.5 a fee event is classed by payload.fee_kind")
def test_a_payment_that_the_chain_proves__is_counted_once_as_tools(stage: Stage) -> None:
    mandate_id, tx_hash = stage.working(), "0x" + "ee" * 32
    vault = stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]["vault_address"]
    body = {"kind": "fee", "amount_usdc": "2", "tx_hash": tx_hash, "payload": {}}
    stage.post(f"/mandates/{mandate_id}/events", stage.agent, body)
    assert fees_of(stage, mandate_id)["unclassified"]["count"] == 1
    stage.chain_says(
        mandate_id, ev.X402Paid(vault, KEEPER, 3 * USDC, "0x" + "11" * 32), tx_hash=tx_hash
    )
    shown = fees_of(stage, mandate_id)
    assert (shown["tools"], shown["unclassified"]["amount"], shown["unclassified"]["count"]) == (
        "3.000000",
        "0.000000",
        0,
    )
