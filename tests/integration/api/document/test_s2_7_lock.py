"""Mandate wallet 2.7: when the owner's money is locked, and what the chain says of the vault, its
agent and its pauses.
"""

from typing import Any

import pytest

from core.mandate.chain import calldata
from core.times import utc_text, utc_words
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import Stage
from tests.personas import AGENT, OWNER

DAY = 86_400


def flags(mandate: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        mandate[name] for name in ("paused", "paused_at", "last_paused_at", "last_resumed_at")
    )


@pytest.mark.row(
    "2.7 paused",
    "2.7 paused_at is cleared on resume",
    "2.7 last_paused_at",
    "2.7 last_resumed_at",
    "2.7 chain_state",
)
def test_pause_and_resume__are_flags_from_the_chain_beside_the_status(live: Live) -> None:
    mandate_id, _ = live.working()
    fresh = live.read(mandate_id)
    assert flags(fresh["mandate"]) == (False, None, None, None)
    assert fresh["chain_state"] == {
        "stopped": False,
        "settled": False,
        "agent": AGENT.address,
        "agent_known": True,
    }
    removed = live.send_owners(mandate_id, "set-agent-call")
    at = utc_text(live.block_time(removed))
    paused = live.read(mandate_id)
    assert (paused["mandate"]["status"], flags(paused["mandate"])) == (
        "working",
        (True, at, at, None),
    )
    assert paused["chain_state"] == {
        "stopped": False,
        "settled": False,
        "agent": None,
        "agent_known": True,
    }
    assert (
        paused["how_to_act"]
        == "The agent is removed on chain. It can act again once the owner sets it."
    )
    live.deployed.rpc.call("evm_increaseTime", [60])
    resumed_at = utc_text(
        live.block_time(live.send_owners(mandate_id, "set-agent-call", agent_wallet=AGENT.address))
    )
    resumed = live.read(mandate_id)
    assert flags(resumed["mandate"]) == (False, None, at, resumed_at) and resumed_at > at
    assert resumed["chain_state"]["agent"] == AGENT.address


@pytest.mark.row(
    "2.7 lock", "2.7 chain_state",
    "2.7 after a stop lock.message says who stopped it and that only the owner can withdraw",
    "2.7 an emptied vault is nothing_left",
)  # fmt: skip
def test_lock__of_a_stopped_vault__tells_who_and_when_until_it_is_empty(live: Live) -> None:
    mandate_id, vault = live.working()
    working = live.read(mandate_id)
    ends_at = int(live.owners(mandate_id, "terms")["terms"]["endsAt"])
    assert working["lock"] == {
        "withdrawable": False,
        "reason": "working",
        "until": utc_text(ends_at + DAY),
        "message": (
            "The mandate is working. Stop it to withdraw; without a stop the money is free from "
            f"{utc_words(ends_at + DAY)}."
        ),
    }
    said = (
        "The owner stopped it at "
        f"{utc_words(live.block_time(live.send_owners(mandate_id, 'stop-call')))}."
    )
    stopped = live.read(mandate_id)
    free = {
        "withdrawable": True,
        "reason": None,
        "until": None,
        "message": f"{said} Only the owner can withdraw.",
    }
    assert stopped["lock"] == free
    assert stopped["chain_state"] == {
        "stopped": True,
        "settled": False,
        "agent": None,
        "agent_known": True,
    }
    live.settle(vault)
    settled = live.read(mandate_id)
    assert settled["lock"] == free
    assert settled["chain_state"] == {
        "stopped": True,
        "settled": True,
        "agent": None,
        "agent_known": True,
    }
    live.send_owners(mandate_id, "withdraw-call", amount_usdc="999.999999")
    assert live.read(mandate_id)["lock"] == free
    live.send_owners(mandate_id, "withdraw-call")
    assert live.read(mandate_id)["lock"] == {
        "withdrawable": False, "reason": "nothing_left", "until": None,
        "message": f"{said} Nothing is left in the vault."
    }  # fmt: skip


@pytest.mark.row(
    "2.7 lock",
    "2.7 after a stop lock.message says who stopped it and that only the owner can withdraw",
)
def test_lock__after_the_agents_stop__does_not_say_that_the_owner_did_it(live: Live) -> None:
    mandate_id, vault = live.working()
    at = live.block_time(live.send(AGENT, {"to": vault, "data": calldata.stop("agent")}))
    assert (
        live.read(mandate_id)["lock"]["message"]
        == f"The agent stopped it at {utc_words(at)}. Only the owner can withdraw."
    )


@pytest.mark.row("2.7 lock", "2.7 chain_state")
def test_lock__from_the_end_on__is_the_settle_grace_and_then_open(live: Live) -> None:
    mandate_id, vault = live.working()
    ends_at = int(live.owners(mandate_id, "terms")["terms"]["endsAt"])
    seen = []
    for at in (ends_at - 1, ends_at, ends_at + DAY - 1, ends_at + DAY):
        live.deployed.rpc.call("evm_setNextBlockTimestamp", [at])
        live.deployed.anvil.mine()
        live.follower.catch_up()
        live.sign_in_at(at)
        lock = live.read(mandate_id)["lock"]
        seen.append((lock["withdrawable"], lock["reason"], lock["until"]))
    until = utc_text(ends_at + DAY)
    grace = (False, "settle_grace", until)
    assert seen == [(False, "working", until), grace, grace, (True, None, None)]
    live.deployed.succeed(OWNER, vault, calldata.settle())
    live.follower.catch_up()
    ended = live.read(mandate_id)
    assert ended["chain_state"] == {
        "stopped": False,
        "settled": True,
        "agent": None,
        "agent_known": True,
    }
    assert (
        ended["lock"]["message"]
        == "The mandate ended and its fee is settled. Only the owner can withdraw."
    )


@pytest.mark.row("2.7 lock", "2.7 chain_state")
def test_without_a_vault__the_chain_says_nothing_and_nothing_can_be_withdrawn(stage: Stage) -> None:
    unknown = {"stopped": None, "settled": None, "agent": None, "agent_known": False}
    paper, signed = (
        stage.get(f"/mandates/{stage.paper()}", stage.owner),
        stage.get(f"/mandates/{stage.signed()}", stage.owner),
    )
    assert (paper["chain_state"], signed["chain_state"]) == (unknown, unknown)
    assert (paper["lock"]["withdrawable"], paper["lock"]["reason"], paper["lock"]["until"]) == (
        False,
        "no_vault",
        None,
    )
    assert (
        paper["lock"]["message"] == "A paper mandate holds no money; there is nothing to withdraw."
    )
    assert signed["lock"]["message"] == "There is no vault, so there is nothing to withdraw."
