"""Wallet document 3: what moves a mandate, on a real chain where the document speaks of one."""

from datetime import UTC, datetime, timedelta

import pytest

from core.mandate.chain import calldata
from core.mandate.rules import events as ev
from tests.integration.api.document.on_chain import World, world  # noqa: F401 (fixtures)
from tests.integration.api.mandates.stage import Stage, reason
from tests.personas import AGENT, KEEPER, OWNER

DAY_S = 86_400
NO_ACTING = "The mandate is stopped. The agent cannot act."

# Assign and accept


@pytest.mark.row("3.1 draft assign", "4 POST /mandates/{id}/assign", "4 open board")
def test_assign__names_the_agent_of_a_draft_and_takes_it_off_the_board(stage: Stage) -> None:
    mandate_id = stage.draft(agent_id=None, open_board=True)
    mandate = stage.post(
        f"/mandates/{mandate_id}/assign", stage.owner, {"agent_id": stage.agent_id}
    )["mandate"]
    assert (mandate["status"], mandate["agent_id"], mandate["open_board"]) == (
        "draft",
        stage.agent_id,
        False,
    )
    assert stage.get("/board", {})["mandates"] == []
    for other in (stage.signed(), stage.working(), stage.paper()):
        answer = stage.call(
            "POST", f"/mandates/{other}/assign", stage.owner, {"agent_id": stage.agent_id}
        )
        assert reason(answer) == (409, "wrong_status")


@pytest.mark.row(
    "3.1 any non-draft accept",
    "4 POST /mandates/{id}/accept",
    "4.2 accept the one that names the agent",
)
@pytest.mark.parametrize(
    ("make", "status"), [("signed", "signed"), ("working", "working"), ("paper", "working")]
)
def test_accept__of_what_names_the_agent__changes_no_status(
    stage: Stage, make: str, status: str
) -> None:
    mandate_id = getattr(stage, make)()
    mandate = stage.post(f"/mandates/{mandate_id}/accept", stage.agent)["mandate"]
    assert (mandate["status"], mandate["agent_id"], mandate["accepted_at"]) == (
        status,
        stage.agent_id,
        "2026-11-21T12:00:00Z",
    )
    assert reason(stage.call("POST", f"/mandates/{stage.draft()}/accept", stage.agent)) == (
        409,
        "wrong_status",
    )


@pytest.mark.row(
    "3.1 accept on the open board",
    "4 open board",
    "4 GET /agents/{id}/offers",
    "4.2 offers come with their clauses",
)
def test_open_board__shows_clauses_and_no_owner_and_goes_to_the_first(stage: Stage) -> None:
    mandate_id, _ = (
        stage.signed(agent_id=None, open_board=True),
        stage.draft(agent_id=None, open_board=True),
    )
    (shown,) = stage.get("/board", {})["mandates"]
    assert (shown["id"], shown["status"], shown["agent_id"], len(shown["clauses"])) == (
        mandate_id,
        "signed",
        None,
        10,
    )
    assert not [key for key in shown if "owner" in key]
    first_spends = "paid to the agent whose call is the first that spends"
    assert shown["fee_payee"] == {"address": None, "is_agent": None, "text_en": first_spends}
    assert f"The fee is {first_spends}." in shown["clauses"][8]["text_en"]
    assert stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"] == []
    accepted = stage.post(f"/mandates/{mandate_id}/accept", stage.agent)["mandate"]
    assert accepted["fee_payee"] == shown["fee_payee"]
    assert (accepted["status"], accepted["agent_id"], accepted["open_board"]) == (
        "signed",
        stage.agent_id,
        True,
    )
    other_owner = stage.new_owner()
    other_id, other = stage.new_agent(other_owner)
    stage.accept_mandates(other_id, other_owner)
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/accept", other)) == (
        409,
        "agent_not_designated",
    )
    assert (
        stage.get("/board", {})["mandates"],
        stage.call("GET", f"/mandates/{mandate_id}", other).status_code,
    ) == ([], 404)


@pytest.mark.row("4 GET /agents/{id}/offers", "4.2 offers come with their clauses")
def test_offers__are_what_waits_with_its_ten_clauses(stage: Stage) -> None:
    first, second = stage.signed(), stage.working()
    stage.draft()
    stopped, accepted = stage.paper(), stage.paper()
    stage.post(f"/mandates/{stopped}/stop", stage.owner)
    stage.post(f"/mandates/{accepted}/accept", stage.agent)
    offers = stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"]
    assert [one["id"] for one in offers] == [second, first]
    assert [clause["key"] for clause in offers[0]["clauses"]][:3] == [
        "budget",
        "per_action",
        "per_day",
    ]
    assert offers[0]["clauses"] == stage.get(f"/mandates/{second}", stage.agent)["clauses"]


@pytest.mark.row("4 GET /agents/{id}/offers", "4 open board")
def test_what_has_ended__waits_for_nobody(stage: Stage) -> None:
    """A mandate that nobody took stood among the offers, and on the board, for ever."""
    named, free = (
        stage.signed(horizon_days=1),
        stage.signed(horizon_days=1, agent_id=None, open_board=True),
    )
    stage.clock.pass_(hours=23, minutes=59, seconds=59)
    assert [
        one["id"] for one in stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"]
    ] == [named]
    assert [one["id"] for one in stage.get("/board", {})["mandates"]] == [free]
    stage.clock.pass_(seconds=1)
    assert stage.get(f"/agents/{stage.agent_id}/offers", stage.agent)["offers"] == []
    assert stage.get("/board", {})["mandates"] == []


# Cancel


@pytest.mark.row("3.1 cancel of a draft")
def test_cancel__a_draft__is_final_and_needs_no_call(stage: Stage) -> None:
    mandate_id = stage.draft()
    answer = stage.post(f"/mandates/{mandate_id}/cancel", stage.owner)
    assert (answer["mandate"]["status"], answer["mandate"]["ended_at"], answer["cancel_call"]) == (
        "cancelled",
        "2026-11-21T12:00:00Z",
        None,
    )
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/cancel", stage.owner)) == (
        409,
        "wrong_status",
    )
    assert reason(stage.call("GET", f"/mandates/{mandate_id}/close-all-plan", stage.owner)) == (
        409,
        "wrong_status",
    )
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/stop", stage.owner)) == (
        409,
        "wrong_status",
    )
    assert reason(
        stage.call("POST", f"/mandates/{mandate_id}/events", stage.agent, {"kind": "note"})
    ) == (409, "wrong_status")


@pytest.mark.row("3.1 cancel of a signed mandate")
def test_cancel__a_signed_mandate__and_its_call_make_the_vault_impossible(world: World) -> None:
    stage, mandate_id = world.stage, world.stage.signed()
    deploy = stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner)
    answer = stage.post(f"/mandates/{mandate_id}/cancel", stage.owner)
    assert answer["mandate"]["status"] == "signed"
    world.send(OWNER, answer["cancel_call"])
    assert world.chain.send(OWNER, deploy["to"], deploy["data"]).status == 0
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]["status"] == "signed"
    world.be_safe()
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    assert (
        read["mandate"]["status"],
        read["mandate"]["vault_address"],
        read["lock"]["withdrawable"],
    ) == ("cancelled", None, False)
    assert stage.faults(mandate_id) == []


# Stop


@pytest.mark.row(
    "3.1 stop by the owner", "3.1 stop revokes the agent on chain",
    "3.1 stop sets how_to_act, settle_note and lock message",
    "4 GET /mandates/{id}/stop-call",
)  # fmt: skip
def test_stop__by_the_owner__ends_it_on_chain_and_in_the_record(world: World) -> None:
    stage = world.stage
    call = stage.get(f"{world.path}/stop-call", stage.owner)
    assert (call["data"], call["reason"], call["locked_until"], call["to"]) == (
        calldata.stop("owner"),
        None,
        None,
        world.vault,
    )
    assert call["what_happens"].startswith("The vault stops for good and revokes the agent")
    assert stage.post(f"{world.path}/stop", stage.owner)["call"] == call
    assert world.read()["mandate"]["status"] == "working"
    world.send(OWNER, call)
    read = world.read()
    assert (read["mandate"]["status"], read["how_to_act"]) == ("stopped", NO_ACTING)
    assert read["settle_note"] and read["lock"]["message"].startswith("The owner stopped it at ")
    assert read["lock"]["message"].endswith(" UTC. Only the owner can withdraw.")
    assert read["chain_state"] == {
        "stopped": True,
        "settled": False,
        "agent": None,
        "agent_known": True,
    }
    assert int(world.chain.reader.agent(world.vault), 16) == 0
    after = stage.get(f"{world.path}/stop-call", stage.owner)
    assert (after["data"], after["reason"]) == (None, "mandate_not_working")


@pytest.mark.row(
    "3.1 stop by the agent", "4.2 stop whenever wanted", "2.8 agent_status of agents/me"
)
def test_stop__by_the_agent__is_a_request_until_the_chain_has_it(world: World) -> None:
    stage = world.stage
    answer = stage.post(f"{world.path}/stop", stage.agent)
    assert (answer["status"], answer["call"]["data"], answer["cancel_call"]) == (
        "working",
        calldata.stop("agent"),
        None,
    )
    status = stage.get("/agents/me", stage.agent)["agent_status"]
    held = {
        "id": world.mandate_id,
        "status": "working",
        "vault": world.vault,
        "market_mode": "testnet",
        "paused": False,
    }
    assert status == {"active_mandates": [held], "ended_mandates": []}
    world.send(AGENT, answer["call"])
    read = world.read()
    assert (read["mandate"]["status"], read["how_to_act"], read["steps"][0]["reported_by"]) == (
        "stopped",
        NO_ACTING,
        "agent",
    )
    (ended,) = stage.get("/agents/me", stage.agent)["agent_status"]["ended_mandates"]
    assert ended == {
        "id": world.mandate_id,
        "status": "stopped",
        "ended_at": read["mandate"]["ended_at"],
        "vault": world.vault,
        "market_mode": "testnet",
        "net_usdc": "0.000000",
        "net_basis": "realized",
    }
    assert reason(stage.call("POST", f"{world.path}/stop", stage.agent)) == (409, "wrong_status")


@pytest.mark.row("3.1 stop by the agent")
def test_a_mandate_of_another_agent__is_not_there_for_the_one_that_proposed_it(
    stage: Stage,
) -> None:
    """The draft went to another agent; the one that proposed it could read the other's record and
    end the mandate.
    """
    goal = {"budget_usdc": "100", "horizon_days": 7, "stop_floor_bps": 500}
    proposal = {"agent_id": stage.agent_id, "title": "Lend", "goal": goal}
    mandate_id = stage.post("/proposals", stage.agent, proposal, status=201)["mandate"]["id"]
    other_id, other = stage.new_agent(stage.owner)
    stage.accept_mandates(other_id)
    assert [one["id"] for one in stage.get("/mandates", stage.agent)["mandates"]] == [mandate_id]
    body = {"purpose": "Lend", "market_mode": "paper", **goal}
    assert stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, body).status_code == 200
    stage.post(f"/mandates/{mandate_id}/assign", stage.owner, {"agent_id": other_id})
    assert stage.get(f"/mandates/{mandate_id}", stage.agent)["mandate"]["agent_id"] == other_id
    stage.post(
        f"/mandates/{mandate_id}/sign", stage.owner, {"signature": stage.sign_terms(mandate_id)}
    )
    for path in ("", "/steps", "/ledger", "/record", "/approvals"):
        assert reason(stage.call("GET", f"/mandates/{mandate_id}{path}", stage.agent)) == (
            404,
            "not_found",
        )
    for path in ("stop", "unwind-call"):
        assert reason(stage.call("POST", f"/mandates/{mandate_id}/{path}", stage.agent)) == (
            404,
            "not_found",
        )
    assert stage.get("/mandates", stage.agent)["mandates"] == []
    assert reason(stage.call("POST", f"/mandates/{mandate_id}/accept", stage.agent)) == (
        409,
        "agent_not_designated",
    )
    assert stage.post(f"/mandates/{mandate_id}/stop", other)["status"] == "stopped"


@pytest.mark.row(
    "3.1 stop by the keeper at the floor", "3.1 stop sets how_to_act, settle_note and lock message"
)
def test_stop__by_the_keepers_mark_at_the_floor__and_one_above_it_stops_nothing(
    world: World,
) -> None:
    world.hold(100, price_e6=500_001)
    world.send(KEEPER, {"to": world.vault, "data": calldata.mark()})
    assert world.read()["mandate"]["status"] == "working"
    world.price(500_000)
    world.send(KEEPER, {"to": world.vault, "data": calldata.mark()})
    read = world.read()
    assert (read["mandate"]["status"], read["how_to_act"]) == ("stopped", NO_ACTING)
    assert read["lock"]["message"].startswith("The keeper stopped it at ") and read["settle_note"]
    stop = next(step for step in read["steps"] if step["code"] == "control_stopped")
    assert (stop["reported_by"], stop["confirmed_on_chain"], stop["params"]["worth_usdc"]) == (
        "keeper",
        True,
        "950.000000",
    )
    assert int(world.chain.reader.agent(world.vault), 16) == 0


@pytest.mark.row(
    "3.1 owner stop in the settle grace is refused",
    "4 GET /mandates/{id}/stop-call",
    "2.18 reason",
    "8 close-all stop",
)
def test_owner_stop__from_the_end_for_a_day__is_refused_by_service_and_vault_alike(
    world: World,
) -> None:
    stage, end = world.stage, world.ends_at
    until = (datetime.fromtimestamp(end, UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    raw = {"to": world.vault, "data": calldata.stop("owner")}
    world.at(end - 2)
    before = stage.get(f"{world.path}/stop-call", stage.owner)
    assert (before["data"], before["reason"]) == (raw["data"], None)
    for second in (end, end + DAY_S - 3):
        world.at(second)
        call = stage.get(f"{world.path}/stop-call", stage.owner)
        assert (call["data"], call["reason"], call["locked_until"]) == (None, "settle_grace", until)
        refused = stage.call("POST", f"{world.path}/stop", stage.owner)
        assert (reason(refused), refused.json()["service"]["retry_at"]) == (
            (409, "wrong_status"),
            until,
        )
        plan = stage.get(f"{world.path}/close-all-plan", stage.owner)
        assert (plan["reason"], plan["locked_until"], [step["type"] for step in plan["steps"]]) == (
            "settle_grace",
            until,
            ["withdraw"],
        )
        world.fail(OWNER, raw)
    world.at(end + DAY_S)
    after = stage.get(f"{world.path}/stop-call", stage.owner)
    assert (after["data"], after["reason"], after["locked_until"]) == (raw["data"], None, None)
    plan = stage.get(f"{world.path}/close-all-plan", stage.owner)
    assert (plan["reason"], [step["type"] for step in plan["steps"]]) == (
        None,
        ["stop", "withdraw"],
    )
    world.send(OWNER, after)
    assert world.read()["mandate"]["status"] == "stopped"


@pytest.mark.row("3.1 owner stop in the settle grace is refused", "4 GET /mandates/{id}/stop-call")
def test_owner_stop_of_paper__goes_by_the_clock_and_the_agents_is_never_gated(stage: Stage) -> None:
    first, second = stage.paper(), stage.paper()
    call = stage.get(f"/mandates/{first}/stop-call", stage.owner)
    assert (call["data"], call["reason"], call["locked_until"]) == (
        None,
        "no_vault",
        None,
    ) and call["what_happens"]
    stage.later(days=30)
    for _ in range(2):
        answer = stage.call("POST", f"/mandates/{first}/stop", stage.owner)
        assert (reason(answer), answer.json()["service"]["retry_at"]) == (
            (409, "wrong_status"),
            "2026-12-22T12:00:00Z",
        )
        assert (
            stage.get(f"/mandates/{first}/close-all-plan", stage.owner)["reason"] == "settle_grace"
        )
        locked = stage.get(f"/mandates/{first}/stop-call", stage.owner)
        assert (locked["data"], locked["reason"], locked["locked_until"]) == (
            None,
            "settle_grace",
            "2026-12-22T12:00:00Z",
        )
        stage.clock.now = stage.clock.now.replace(day=22, hour=11, minute=59, second=59)
        stage.later(seconds=0)
    assert stage.post(f"/mandates/{second}/stop", stage.agent)["status"] == "stopped"
    stage.later(seconds=1)
    assert stage.post(f"/mandates/{first}/stop", stage.owner)["status"] == "stopped"


@pytest.mark.row("3.1 the keeper is never gated")
def test_keepers_stop__in_the_grace__goes_through(world: World) -> None:
    world.hold(100, price_e6=100_000)
    world.at(world.ends_at)
    world.send(KEEPER, {"to": world.vault, "data": calldata.mark()})
    read = world.read()
    assert (read["mandate"]["status"], read["steps"][0]["reported_by"]) == ("stopped", "keeper")
    plan = world.stage.get(f"{world.path}/close-all-plan", world.stage.owner)
    assert (plan["reason"], [step["type"] for step in plan["steps"]]) == (
        None,
        ["unwind", "withdraw"],
    )


# Pause


@pytest.mark.row(
    "3.2 paused is a flag and no status",
    "3.2 agent removal on chain pauses",
    "3.2 agent set on chain resumes",
)
def test_a_pause__is_a_flag_beside_the_status_and_its_time_clears_on_resume(stage: Stage) -> None:
    mandate_id, wallet = stage.working(), stage.agent_wallet.address
    fresh = stage.get(f"/mandates/{mandate_id}", stage.agent)["mandate"]
    assert [fresh[key] for key in ("paused", "paused_at", "last_paused_at", "last_resumed_at")] == [
        False,
        None,
        None,
        None,
    ]
    stage.chain_says(mandate_id, ev.AgentRemoved(wallet, stage.owner_wallet.address))
    paused = stage.get(f"/mandates/{mandate_id}", stage.agent)
    at = "2026-11-21T12:00:00Z"
    assert [
        paused["mandate"][key] for key in ("status", "paused", "paused_at", "last_paused_at")
    ] == ["working", True, at, at]
    assert (paused["steps"][0]["code"], paused["steps"][0]["note"]) == (
        "control_agentremoved",
        "Paused: agent removed on chain",
    )
    stage.clock.pass_(minutes=3)
    stage.chain_says(mandate_id, ev.AgentSet(wallet))
    resumed = stage.get(f"/mandates/{mandate_id}", stage.agent)
    assert [resumed["mandate"][key] for key in ("status", "paused", "paused_at", "last_paused_at",
        "last_resumed_at")] == [
        "working", False, None, at, "2026-11-21T12:03:00Z",
    ]  # fmt: skip
    assert (resumed["steps"][0]["code"], resumed["steps"][0]["params"]["action"]) == (
        "control_agentset",
        "resumed",
    )
