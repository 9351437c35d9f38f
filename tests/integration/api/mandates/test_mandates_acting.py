import pytest

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.rules import events as ev
from tests.integration.api.mandates.stage import ADAPTER, BUY, USDC, Stage, address, reason


def build(stage: Stage, mandate_id: str, amount: str, **changes: object) -> dict[str, object]:
    body = {
        "target": ADAPTER,
        "function": "buy(uint256)",
        "args": [amount.replace(".", "")],
        "amount_usdc": amount,
        **changes,
    }
    return stage.post(
        f"/mandates/{mandate_id}/execute-call",
        stage.agent,
        {k: v for k, v in body.items() if v is not None},
    )


def test_accept__of_a_draft_or_an_ended_mandate__is_wrong_status(stage: Stage) -> None:
    stopped = stage.paper()
    stage.post(f"/mandates/{stopped}/stop", stage.owner)
    for mandate_id in (stage.draft(), stopped):
        answer = stage.call("POST", f"/mandates/{mandate_id}/accept", stage.agent)
        assert reason(answer) == (409, "wrong_status")


# execute-call


def test_execute_call__its_three_forms__give_the_same_data(stage: Stage) -> None:
    mandate_id, word = stage.working(), f"{5 * USDC:064x}"
    by_function = build(stage, mandate_id, "5.000000")
    by_selector = build(
        stage, mandate_id, "5.000000", function=None, args=None, selector=BUY, data="0x" + word
    )
    by_data = build(stage, mandate_id, "5.000000", function=None, args=None, data=BUY + word)
    by_number = build(stage, mandate_id, "5.000000", args=[5 * USDC])
    assert by_function["data"] == by_selector["data"] == by_data["data"] == by_number["data"]


def test_execute_call__without_a_vault_or_with_odd_arguments__is_a_sentence(stage: Stage) -> None:
    body = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1"], "amount_usdc": "1"}
    assert reason(
        stage.call("POST", f"/mandates/{stage.signed()}/execute-call", stage.agent, body)
    ) == (409, "wrong_status")
    assert reason(
        stage.call("POST", f"/mandates/{stage.paper()}/execute-call", stage.agent, body)
    ) == (409, "wrong_status")
    path = f"/mandates/{stage.working()}/execute-call"
    odd: list[dict[str, object]] = [
        {"args": ["x"]},
        {"args": []},
        {"args": [1.5]},
        {"function": "buy(uint)"},
        {"function": "f((uint256,address)", "args": [[1, ADAPTER]]},
        {"selector": BUY},
        {"amount_usdc": "-1"},
    ]
    for change in odd:
        answer = stage.call("POST", path, stage.agent, {**body, **change})
        assert answer.status_code == 400, (change, answer.text)
    struct = {"function": "f((uint256,address))", "args": [[1]]}
    answer = stage.call("POST", path, stage.agent, {**body, **struct})
    assert answer.json()["detail"] == (
        "args: arguments do not fit ((uint256,address)): argument 1 is not a valid "
        "(uint256,address)."
    )


def test_execute_call__with_structs_and_arrays__takes_lists_and_digits_at_any_depth(
    stage: Stage,
) -> None:
    mandate_id, signature = stage.working(), "f((uint256,address)[],int8[2])"
    built = build(
        stage,
        mandate_id,
        "1.000000",
        function=signature,
        args=[[[str(2**200), ADAPTER]], ["-1", 2]],
    )
    inner = call_by_signature(signature, [[[2**200, ADAPTER]], [-1, 2]])
    assert built["data"] == calldata.execute(calldata.VaultCall(ADAPTER, 1 * USDC, inner))


def test_set_agent_call__from_the_end_on__sets_nobody_and_still_removes(stage: Stage) -> None:
    mandate_id, wallet = stage.working(), stage.agent_wallet.address
    stage.later(days=30)
    none = stage.get(f"/mandates/{mandate_id}/set-agent-call", stage.owner, agent_wallet=wallet)
    assert (none["data"], none["reason"]) == (None, "mandate_ended")
    assert (
        stage.get(f"/mandates/{mandate_id}/set-agent-call", stage.owner)["data"]
        == calldata.remove_agent()
    )


@pytest.mark.parametrize("whose", ["nobody", "vault"])
def test_a_call_with_an_address_that_the_vault_refuses__is_not_built(
    stage: Stage, whose: str
) -> None:
    """The vault reverts with BadAddress; the answer said that it obeys the address."""
    mandate_id = stage.working()
    vault = stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]["vault_address"]
    wallet = vault if whose == "vault" else "0x" + "0" * 40
    answer = stage.call(
        "GET", f"/mandates/{mandate_id}/set-agent-call", stage.owner, agent_wallet=wallet
    )
    assert (reason(answer), answer.json()["detail"].split(":")[0]) == (
        (400, "invalid_parameter"),
        "agent_wallet",
    )
    stage.chain_says(
        mandate_id,
        ev.Stopped(stage.owner_wallet.address, "0x" + b"owner".ljust(32, b"\0").hex(), 0, 0, False),
    )
    answer = stage.call("GET", f"/mandates/{mandate_id}/withdraw-call", stage.owner, to=wallet)
    assert (reason(answer), answer.json()["detail"].split(":")[0]) == (
        (400, "invalid_parameter"),
        "to",
    )


def test_deposit_call__takes_no_more_than_is_missing(stage: Stage) -> None:
    mandate_id = stage.signed()
    assert (
        stage.get(f"/mandates/{mandate_id}/deposit-call", stage.owner, amount_usdc="1")["reason"]
        == "no_vault"
    )
    vault, owner = address(0x3001), stage.owner_wallet.address
    digest = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["digest"]
    stage.chain_says(
        mandate_id,
        ev.VaultCreated(vault, digest, owner, stage.agent_wallet.address, mandate_id, None, ()),
    )  # type: ignore[arg-type]
    stage.chain_says(mandate_id, ev.Deposited(owner, 400 * USDC, 400 * USDC, 400 * USDC))
    calls = stage.get(f"/mandates/{mandate_id}/deposit-call", stage.owner, amount_usdc="600")[
        "calls"
    ]
    assert [one["data"] for one in calls] == [
        calldata.approve(vault, 600 * USDC),
        calldata.deposit(600 * USDC),
    ]
    too_much = stage.call(
        "GET", f"/mandates/{mandate_id}/deposit-call", stage.owner, amount_usdc="600.000001"
    )
    assert reason(too_much) == (400, "invalid_number")


def test_withdraw_call__working__is_locked_and_after_a_stop__takes_all(
    stage: Stage, mandate_id: str
) -> None:
    locked = stage.get(f"/mandates/{mandate_id}/withdraw-call", stage.owner)
    assert (locked["data"], locked["reason"]) == (None, "working")
    stage.executed(mandate_id, 100 * USDC)
    stage.chain_says(
        mandate_id,
        ev.Stopped(stage.owner_wallet.address, "0x" + b"owner".ljust(32, b"\0").hex(), 0, 0, False),
    )
    call = stage.get(f"/mandates/{mandate_id}/withdraw-call", stage.owner)
    assert (call["amount_usdc"], call["source"]) == ("900.000000", "ledger")
    assert reason(
        stage.call(
            "GET", f"/mandates/{mandate_id}/withdraw-call", stage.owner, amount_usdc="900.000001"
        )
    ) == (
        400,
        "invalid_number",
    )
    vault = call["to"]
    stage.chain_says(mandate_id, ev.Withdrawn("0x" + "00" * 20, stage.owner_wallet.address, 5, 0))
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["lock"]["withdrawable"] is True
    usdc = "0x0000000000000000000000000000000000001001"
    stage.chain_says(mandate_id, ev.Withdrawn(usdc, stage.owner_wallet.address, 900 * USDC, 0))
    read = stage.get(f"/mandates/{mandate_id}", stage.owner)
    assert (read["lock"]["withdrawable"], read["lock"]["reason"]) == (False, "nothing_left")
    assert read["mandate"]["vault_address"] == vault


@pytest.mark.row("4 GET /mandates/{id}/close-all-plan", "2.18 relay_positions_read")
def test_close_all_plan__while_the_chain_is_out_of_reach__says_so(stage: Stage) -> None:
    plan = stage.get(f"/mandates/{stage.working()}/close-all-plan", stage.owner)
    assert [step["type"] for step in plan["steps"]] == ["stop", "withdraw"]
    assert (plan["relay_positions_read"], plan["exit_cost_est"], plan["gets_back_est"]) == (
        False,
        None,
        None,
    )
