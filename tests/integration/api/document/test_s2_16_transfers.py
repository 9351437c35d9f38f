"""Wallet document 2.16 and 3.3: transfer reports and balances in four states, by what the chain
says of them.
"""

from typing import Any

import pytest

from core.transfers import queries as repository
from core.transfers import reports as transfer_reports
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.ledger.verify import transfer_ledger_faults
from core.transfers.ledger.writer import NewTransfer
from core.transfers.rules import Failure, FourStates, Sighting
from tests.integration.api.mandates.stage import CHAIN_ID, Stage, reason

TX = "0x" + "ab" * 32
AUCTION_CHAIN = 8453
ZERO = "0.000000"


def report(stage: Stage, tx_hash: str = TX, **changes: Any) -> Any:
    body = {
        "chain_id": CHAIN_ID,
        "asset": "USDC",
        "amount": "12.5",
        "tx_hash": tx_hash,
        "direction": "in",
    }
    return stage.call("POST", "/transfers/report", stage.agent, body | changes)


def confirm(stage: Stage, tx_hash: str = TX) -> None:
    sighting = Sighting(
        block_hash="0x" + "09" * 32,
        block_number=9,
        at=0,
        is_safe=True,
        is_success=True,
        moved_e6=None,
        log_index=0,
    )
    with stage.database.write() as session:
        found = repository.find_report(session, CHAIN_ID, tx_hash)
        assert found is not None
        transfer_reports.confirm(session, found, sighting, stage.clock.now)


def fail(stage: Stage, failure: Failure) -> None:
    with stage.database.write() as session:
        found = repository.find_report(session, CHAIN_ID, TX)
        assert found is not None
        transfer_reports.fail(session, found, failure, None, stage.clock.now)


def told(stage: Stage) -> dict[str, Any]:
    """The report as it stands: what the same report again is answered with."""
    answer = report(stage)
    assert reason(answer) == (409, "duplicate_transfer")
    return dict(answer.json()["transfer"])


def balances(stage: Stage) -> dict[tuple[int, str], list[str]]:
    found = stage.get(f"/agents/{stage.agent_id}/balances", stage.agent)["balances"]
    assert found == stage.get(f"/agents/{stage.agent_id}/balances", stage.owner)["balances"]
    states = ("idle", "reserved", "in_transit", "delivered")
    return {(one["chain_id"], one["asset"]): [one[state] for state in states] for one in found}


@pytest.mark.row(
    "2.16 status",
    "2.16 confirmed_at",
    "2.16 reported_at",
    "3.3 reported to confirmed",
    "3.3 there is no reorged status",
)
def test_a_report__goes_from_reported_to_confirmed_to_failed_and_back_in_these_words(
    stage: Stage,
) -> None:
    assert report(stage).json()["transfer"]["status"] == "reported"
    stage.clock.pass_(minutes=5)
    confirm(stage)
    read = told(stage)
    assert (read["status"], read["reported_at"], read["confirmed_at"], read["failure"]) == (
        "confirmed", "2026-11-21T12:00:00Z", "2026-11-21T12:05:00Z", None,
    )  # fmt: skip
    assert balances(stage) == {(CHAIN_ID, "USDC"): ["12.500000", ZERO, ZERO, ZERO]}
    fail(stage, Failure.BLOCK_REPLACED)
    assert (told(stage)["status"], told(stage)["failure"]) == ("failed", "block_replaced")
    assert balances(stage) == {(CHAIN_ID, "USDC"): [ZERO, ZERO, ZERO, ZERO]}
    confirm(stage)
    assert (told(stage)["status"], told(stage)["failure"]) == ("confirmed", None)
    assert balances(stage) == {(CHAIN_ID, "USDC"): ["12.500000", ZERO, ZERO, ZERO]}


@pytest.mark.row("2.16 tx_hash", "2.16 agent_id", "2.16 direction")
def test_a_report__shows_the_hash_in_lower_case_and_whose_it_is(stage: Stage) -> None:
    report(stage)
    confirm(stage)
    out = report(stage, "0x" + "CD" * 32, direction="out", amount="2").json()["transfer"]
    assert (out["tx_hash"], out["agent_id"], out["direction"]) == (
        "0x" + "cd" * 32,
        stage.agent_id,
        "out",
    )
    assert balances(stage) == {(CHAIN_ID, "USDC"): ["10.500000", ZERO, "2.000000", ZERO]}
    confirm(stage, "0x" + "cd" * 32)
    assert balances(stage) == {(CHAIN_ID, "USDC"): ["10.500000", ZERO, ZERO, "2.000000"]}


@pytest.mark.row(
    "2.16 override_reason",
    "3.3 outbound larger than idle",
    "2.16 reported_by",
    "7 an outbound transfer report above idle is 409 insufficient_idle and writes nothing",
)
def test_money_out_above_idle__needs_allow_overdraft_and_else_writes_nothing(stage: Stage) -> None:
    answer = report(stage, direction="out", amount="0.000001")
    assert (reason(answer), answer.json()["service"]["remaining"]) == (
        (409, "insufficient_idle"),
        ZERO,
    )
    assert balances(stage) == {}
    path = f"/agents/{stage.agent_id}/policy"
    for other in (False, "true", 1):
        stage.call(
            "PUT",
            path,
            stage.owner,
            {"accepts_mandates": True, "auto_vs_approval": {"allow_overdraft": other}},
        )
        assert reason(report(stage, direction="out", amount="0.000001")) == (
            409,
            "insufficient_idle",
        )
    stage.call(
        "PUT",
        path,
        stage.owner,
        {"accepts_mandates": True, "auto_vs_approval": {"allow_overdraft": True}},
    )
    told = report(stage, direction="out", amount="0.000001").json()["transfer"]
    assert (told["override_reason"], told["reported_by"]) == (
        "allow_overdraft: idle was 0.000000",
        "agent",
    )
    assert balances(stage) == {(CHAIN_ID, "USDC"): ["-0.000001", ZERO, "0.000001", ZERO]}


@pytest.mark.row(
    "2.16 balances are per chain and asset in four states",
    "2.16 each state is the sum of a signed ledger",
    "4 balances",
)
def test_balances__keep_chains_and_assets_apart_and_reserved_among_the_states(stage: Stage) -> None:
    """As an auction's bid would post: it reserves, part is delivered, closing releases the rest."""
    report(stage)
    entries = [
        ("bid", FourStates(reserved_e6=100)),
        ("delivered", FourStates(reserved_e6=-60, delivered_e6=60)),
        ("closed", FourStates(reserved_e6=-40)),
    ]
    seen = []
    for kind, deltas in entries:
        with stage.database.write() as session:
            bid = NewTransfer(
                kind=kind,
                base_key=f"{kind}:1",
                chain_id=AUCTION_CHAIN,
                asset="USDT",
                deltas=deltas,
                reported_by="chain",
                tx_hash=TX,
            )
            transfer_ledger.post(session, int(stage.agent_id), bid, stage.clock.now)
        seen.append(balances(stage)[AUCTION_CHAIN, "USDT"])
    assert seen == [
        [ZERO, "0.000100", ZERO, ZERO],
        [ZERO, "0.000040", ZERO, "0.000060"],
        [ZERO, ZERO, ZERO, "0.000060"],
    ]
    assert balances(stage)[CHAIN_ID, "USDC"] == [ZERO, ZERO, "12.500000", ZERO]
    with stage.database.read() as session:
        assert transfer_ledger_faults(session, int(stage.agent_id)) == []
