"""Wallet document 4.2 and 6 on a real chain: the agent's loop, what the record then holds, and the
factory's notes.
"""

from typing import Any

import pytest
from eth_utils.crypto import keccak

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from tests.integration.api.document.on_chain import World, world  # noqa: F401 (fixtures)
from tests.integration.chain_fixtures import USDC
from tests.personas import AGENT, DEPLOYER, KEEPER, OWNER, STRANGER, Persona

PAUSER_ROLE = "0x" + keccak(text="PAUSER_ROLE").hex()


def events(world: World) -> list[dict[str, Any]]:
    """The raw ledger, oldest first."""
    found: list[dict[str, Any]] = world.stage.get(
        f"{world.path}/ledger", world.stage.agent, limit=200
    )["events"]
    return found[::-1]


@pytest.mark.row(
    "4.2 offers come with their clauses", "4.2 accept the one that names the agent",
    "4.2 read left_today and per_action_max before every action",
    "4.2 build, send with the agent's own key, report with the same tx_hash",
    "4.2 reports cite the clause number", "4.2 stop whenever wanted", "6 one vault log is one row",
)  # fmt: skip
def test_the_loop__offer_accept_read_build_send_report_stop(world: World) -> None:
    stage, adapter = world.stage, world.chain.contracts["test_venue_adapter"]
    (offer,) = stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"]
    per_action = next(clause for clause in offer["clauses"] if clause["key"] == "per_action")
    stage.post(f"/mandates/{offer['id']}/accept", stage.agent)
    used = stage.get(world.path, stage.agent)["limits"]["used"]
    assert (used["left_today"]["value"], used["per_action_max"]["value"]) == (
        "450.000000",
        "200.000000",
    )
    tx_hash = world.send(AGENT, world.buy(200))
    why = f"Within clause {per_action['n']}."
    body = {
        "kind": "buy",
        "amount_usdc": "200",
        "tx_hash": tx_hash,
        "why": why,
        "payload": {"target": adapter},
    }
    assert stage.post(f"{world.path}/events", stage.agent, body)["violation"] is False
    group = [step for step in world.read()["steps"] if step["tx_hash"] == tx_hash]
    assert [
        (step["kind"], step["reported_by"], step["confirmed_on_chain"], step["why"])
        for step in group
    ] == [
        ("action", "agent", True, why),
        ("outcome", "chain", True, None),
    ]
    used = stage.get(world.path, stage.agent)["limits"]["used"]
    assert (used["left_today"]["value"], used["left_total"]["value"]) == (
        "250.000000",
        "800.000000",
    )
    executed = [
        one for one in events(world) if one["tx_hash"] == tx_hash and one["reported_by"] == "chain"
    ]
    assert [
        (one["kind"], one["amount_usdc"], one["log_index"] is not None) for one in executed
    ] == [("move", "200.000000", True)]
    world.send(AGENT, stage.post(f"{world.path}/stop", stage.agent)["call"])
    assert world.read()["mandate"]["status"] == "stopped"
    assert stage.faults(world.mandate_id) == []


@pytest.mark.row(
    "4.2 a reverted call is reported with the contract reason", "2.11 source", "2.11 check",
    "2.11 an agent's report proven later is shown once",
    "2.11 one row per tx hash per mandate", "6 reverts of the block scan",
)  # fmt: skip
@pytest.mark.parametrize("reports_first", [True, False])
def test_a_reverted_call__reported_before_or_after_the_scan__is_one_proven_refusal(
    world: World, reports_first: bool
) -> None:
    call = world.buy(201)
    body = {"reason": call["check"]["reason"], "amount_usdc": call["amount_usdc"]}
    receipt = world.chain.send(AGENT, call["to"], call["data"])
    assert (receipt.status, body["reason"]) == (0, "OverPerTxCap")
    if not reports_first:
        world.follower.catch_up()
    answer = world.stage.post(
        f"{world.path}/refusals", world.stage.agent, body | {"tx_hash": receipt.tx_hash}
    )
    assert (answer["is_new"], answer["refusal"]["source"]) == (
        (True, "agent") if reports_first else (False, "chain")
    )
    world.follower.catch_up()
    notes = [one for one in events(world) if "refusal" in one["payload"]]
    assert [one["reported_by"] for one in notes] == (
        ["agent", "chain"] if reports_first else ["chain"]
    )
    assert notes[-1]["payload"].get("proves_event_id") == (
        notes[0]["id"] if reports_first else None
    )
    read = world.read()
    (shown,) = [step for step in read["steps"] if step["code"] == "refused"]
    assert (shown["note"], shown["params"]["source"], shown["params"]["check"]) == (
        "Refused: OverPerTxCap",
        "chain",
        "block_scan",
    )
    counts = (
        read["limits"]["breaches"]["refusals"]["count"],
        read["limits"]["breaches"]["reverts"]["count"],
    )
    assert (counts, read["limits"]["used"]["left_today"]["value"]) == ((1, 1), "450.000000")


def factory(world: World, data: str, sender: Persona = DEPLOYER) -> None:
    world.send(sender, {"to": world.chain.contracts["factory"], "data": data})


@pytest.mark.row(
    "6 factory notes", "6 KeeperProposed", "6 KeeperProposalCancelled", "6 KeeperChanged",
    "6 RoleGranted and RoleRevoked",
    "6 factory notes on mandates whose vault existed before", "6 keeper_change alert",
)  # fmt: skip
def test_factory_events__are_notes_with_their_arguments_on_live_mandates_with_a_vault(
    world: World,
) -> None:
    without_vault = world.stage.signed()
    factory(world, calldata.propose_keeper(STRANGER.address))
    eta = world.chain.now + 2 * 86_400
    factory(world, calldata.cancel_keeper_proposal())
    factory(world, calldata.propose_keeper(STRANGER.address))
    world.chain.rpc.call("evm_increaseTime", [4 * 86_400])
    factory(world, calldata.accept_keeper(), STRANGER)
    role = [PAUSER_ROLE, STRANGER.address]
    factory(world, call_by_signature("grantRole(bytes32,address)", role))
    factory(world, call_by_signature("revokeRole(bytes32,address)", role))
    notes = [one["payload"] for one in events(world) if one["payload"].get("factory") is True]
    assert [note["event"] for note in notes] == [
        "KeeperProposed", "KeeperProposalCancelled", "KeeperProposed", "KeeperChanged",
        "RoleGranted", "RoleRevoked",
    ]  # fmt: skip
    assert notes[0]["args"] == {"proposedKeeper": STRANGER.address, "eta": str(eta)}
    assert notes[3]["args"] == {"previousKeeper": KEEPER.address, "newKeeper": STRANGER.address}
    assert (
        notes[4]["args"]
        == notes[5]["args"]
        == {"role": "PAUSER_ROLE", "account": STRANGER.address, "sender": DEPLOYER.address}
    )
    alerts = [
        one["event"]
        for one in world.stage.get("/me/alerts", world.stage.owner)["alerts"]
        if one["chain_id"] is not None
    ]
    assert alerts[::-1] == [
        "KeeperProposed",
        "KeeperProposalCancelled",
        "KeeperProposed",
        "KeeperChanged",
        "RoleGranted",
    ]
    other = world.stage.get(f"/mandates/{without_vault}/ledger", world.stage.owner)["events"]
    assert [one["kind"] for one in other] == ["signed"]


@pytest.mark.row("6 factory notes")
def test_factory_events__are_written_on_a_stopped_mandate_and_not_on_a_settled_one(
    world: World,
) -> None:
    world.send(AGENT, {"to": world.vault, "data": calldata.stop("agent")})
    factory(world, calldata.propose_keeper(STRANGER.address))
    world.send(OWNER, {"to": world.vault, "data": calldata.settle()})
    assert world.read()["mandate"]["status"] == "settled"
    factory(world, calldata.cancel_keeper_proposal())
    assert [one["payload"]["event"] for one in events(world) if one["payload"].get("factory")] == [
        "KeeperProposed"
    ]


@pytest.mark.row("6 one vault log is one row")
def test_the_same_blocks_read_again__write_no_row_twice(world: World) -> None:
    world.send(AGENT, world.buy(10))
    before = events(world)
    logs = [(one["tx_hash"], one["log_index"]) for one in before if one["log_index"] is not None]
    assert len(logs) == len(set(logs)) == 3 and all(
        tx_hash == tx_hash.lower() for tx_hash, _ in logs
    )
    world.follower.restart()
    world.follower.catch_up()
    assert events(world) == before
    assert (
        world.read()["progress"]["cash"] == "990.000000"
        and world.chain.reader.usdc_balance(world.vault) == 990 * USDC
    )
