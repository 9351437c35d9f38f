"""The six contract reasons of the document's section 7, from the vault itself to the owner's page.

    execute-call, by HTTP and as a tool   the dry run names the reason and what remains; nothing is sent
    the agent sends the call all the same the vault reverts
    the agent reports the refusal         shown once, source agent
    the block scan comes by               shown once, source chain

The relay guard refuses before any chain call, so that its reason has no transaction: it is reported
without one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.api.document.refusal_cases import DOORS, WALLET, Attempt
from tests.integration.api.mandates.stage import Stage
from tests.integration.api.mandates.test_mandates_on_chain import execute, send, stage, working  # noqa: F401 (fixtures)
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, OWNER

Values = tuple[str | None, str | None, str | None]  # left_today, left_total, per_action_max


@dataclass(frozen=True, slots=True)
class World:
    stage: Stage
    deployed: DeployedChain
    follower: Follower
    mandate_id: str

    @property
    def path(self) -> str:
        return f"/mandates/{self.mandate_id}"

    def buys(self, whole: int) -> None:
        call = execute(
            self.stage,
            self.deployed,
            self.mandate_id,
            "buy(uint256)",
            whole * USDC,
            f"{whole}.000000",
        )
        send(self.deployed, AGENT, call)
        self.follower.catch_up()


@pytest.fixture
def world(
    stage: Stage, deployed: DeployedChain, follower: Follower, working: tuple[str, str]
) -> World:
    return World(stage, deployed, follower, working[0])


# How each comes about; the answer is the call that the vault refuses


def not_a_target(world: World) -> dict[str, Any]:
    """USDC itself is never on the list."""
    usdc = world.deployed.contracts["usdc"]
    return {
        "target": usdc,
        "function": "approve(address,uint256)",
        "args": [AGENT.address, "1"],
        "amount_usdc": "0",
    }


def buy(world: World, amount: str) -> dict[str, Any]:
    adapter = world.deployed.contracts["test_venue_adapter"]
    return {"target": adapter, "function": "buy(uint256)", "args": ["1"], "amount_usdc": amount}


def over_the_action(world: World) -> dict[str, Any]:
    return buy(world, "200.000001")


def over_the_day(world: World) -> dict[str, Any]:
    for whole in (200, 200):
        world.buys(whole)
    return buy(world, "50.000001")


def stopped(world: World) -> dict[str, Any]:
    send(world.deployed, OWNER, world.stage.get(f"{world.path}/stop-call", world.stage.owner))
    world.follower.catch_up()
    return buy(world, "1.000000")


def ended(world: World) -> dict[str, Any]:
    """The first second that is past the end: the end date itself."""
    ends_at = datetime.fromisoformat(
        world.stage.get(world.path, world.stage.agent)["mandate"]["ends_at"]
    )
    world.deployed.rpc.call("evm_setNextBlockTimestamp", [int(ends_at.timestamp())])
    world.deployed.anvil.mine()
    world.follower.catch_up()
    world.stage.clock.now = ends_at.astimezone(UTC)
    world.stage.later()
    return buy(world, "1.000000")


@dataclass(frozen=True, slots=True)
class Refused:
    """`remains`: left_today, left_total, per_action_max as they are told beside the refusal;
    `basis` of the first.
    """

    provoke: Callable[[World], dict[str, Any]]
    remains: Values
    basis: str = "daily_cap_rolling_24h"


REASONS: Mapping[str, Refused] = {
    "TargetNotAllowed": Refused(not_a_target, ("450.000000", "1000.000000", "200.000000")),
    "OverPerTxCap": Refused(over_the_action, ("450.000000", "1000.000000", "200.000000")),
    "OverDailyCap": Refused(over_the_day, ("50.000000", "600.000000", "200.000000")),
    "MandateStopped": Refused(stopped, (None, None, None), "mandate_not_working"),
    "MandateEnded": Refused(ended, (None, None, None), "mandate_ended"),
}


def building(world: World, body: Mapping[str, Any]) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/execute-call"
    ids = {"id": world.mandate_id}
    return Attempt(
        method="POST",
        path=path,
        who=world.stage.agent,
        ids=ids,
        fields=body,
        tool="mandate_execute_call",
    )


def reporting(world: World, **fields: Any) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/refusals"
    ids = {"id": world.mandate_id}
    return Attempt(
        method="POST",
        path=path,
        who=world.stage.agent,
        ids=ids,
        fields=fields,
        tool="mandate_report_refusal",
    )


def values(used: Mapping[str, Any]) -> Values:
    return used["left_today"]["value"], used["left_total"]["value"], used["per_action_max"]["value"]


def refusals_shown(world: World) -> list[tuple[str, str, str, str, str | None]]:
    """(note, reason, source, check, hash) of each refused step, as the owner reads them."""
    steps = world.stage.get(world.path, world.stage.owner)["steps"]
    refused = [step for step in steps if step["code"] == "refused"]
    return [
        (
            step["note"],
            step["params"]["reason"],
            step["params"]["source"],
            step["params"]["check"],
            step["tx_hash"],
        )
        for step in refused
    ]


def counted(world: World) -> tuple[int, int]:
    """(reverts, refusals) of the limits block."""
    breaches = world.stage.get(world.path, world.stage.owner)["limits"]["breaches"]
    return breaches["reverts"]["count"], breaches["refusals"]["count"]


@pytest.mark.row(
    "7 TargetNotAllowed", "7 OverPerTxCap", "7 OverDailyCap", "7 MandateStopped", "7 MandateEnded",
    "7 a contract reason is shown as Refused and its name", "8 per-action and per-day caps",
)  # fmt: skip
@pytest.mark.parametrize("reason", REASONS)
def test_a_contract_reason__is_foretold_reverts_is_reported_and_is_proven(
    world: World, reason: str
) -> None:
    case = REASONS[reason]
    attempt = building(world, case.provoke(world))
    for door in DOORS.values():
        told = door(world.stage.client, attempt)
        check = told.body["check"]
        assert (told.status, check["ok"], check["reason"], check["source"]) == (
            200,
            False,
            reason,
            "chain",
        )
        assert (values(check["remaining"]), check["remaining"]["left_today"]["basis"]) == (
            case.remains,
            case.basis,
        )
        assert told.body["gas"] is None
    receipt = world.deployed.send(AGENT, told.body["to"], told.body["data"])
    assert receipt.status == 0
    shown = f"Refused: {reason}"

    report = reporting(
        world, reason=reason, tx_hash=receipt.tx_hash, amount_usdc=attempt.fields["amount_usdc"]
    )
    first, second = (door(world.stage.client, report) for door in DOORS.values())
    assert [(one.status, one.body["is_new"]) for one in (first, second)] == [
        (200, True),
        (200, False),
    ]
    assert refusals_shown(world) == [(shown, reason, "agent", "reported", receipt.tx_hash)]
    assert counted(world) == (0, 1)

    world.follower.catch_up()
    assert refusals_shown(world) == [(shown, reason, "chain", "block_scan", receipt.tx_hash)]
    assert counted(world) == (1, 1)
    assert world.stage.faults(world.mandate_id) == []


@pytest.mark.row("7 server_guard")
@pytest.mark.parametrize("door", DOORS)
def test_server_guard__is_reported_without_a_transaction_and_shown(world: World, door: str) -> None:
    make = DOORS[door]
    with_hash = make(
        world.stage.client, reporting(world, reason="server_guard", tx_hash="0x" + "ab" * 32)
    )
    assert (with_hash.status, with_hash.body["service"]["reason"]) == (400, "invalid_parameter")
    assert with_hash.body["detail"].startswith("tx_hash: ")
    assert (
        make(
            world.stage.client, reporting(world, reason="server_guard", amount_usdc="3.000000")
        ).status
        == 200
    )
    world.follower.catch_up()
    assert refusals_shown(world) == [
        ("Refused: server_guard", "server_guard", "agent", "reported", None)
    ]
    assert counted(world) == (0, 1)
