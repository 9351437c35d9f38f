"""A mistyped digit of somebody's address comes to nothing, whichever door it came in by."""

from typing import Any

from tests.each import each
from tests.integration.api.mandates.stage import Stage, reason
from tests.unit.core.test_hexes import ACCOUNT, EXCHANGED, OF_ANOTHER_CHAIN

X402 = {"kind": "x402", "hosts": ["a.example"]}
CONTRACT = {"kind": "contract", "functions": [{"signature": "f(address)", "recipient_word": 0}]}
WRITTEN: dict[str, tuple[str, Any]] = {
    "a payee": ("POST /mandates", {"allowed_targets": [{**X402, "payees": [EXCHANGED]}]}),
    "a target": ("POST /mandates", {"allowed_targets": [{**CONTRACT, "address": EXCHANGED}]}),
    "a bare target": ("POST /mandates", {"allowed_targets": [EXCHANGED]}),
    "where money goes": ("GET /withdraw-call", {"to": EXCHANGED}),
    "another chain's checksum": ("GET /withdraw-call", {"to": OF_ANOTHER_CHAIN}),
    "an agent": ("GET /set-agent-call", {"agent_wallet": EXCHANGED}),
    "a called contract": ("POST /execute-call", {"target": EXCHANGED, "data": "0x12345678"}),
    "who is paid": (
        "POST /execute-call",
        {"resource": "https://a.example/x", "pay_to": EXCHANGED},
    ),
    "an argument": (
        "POST /execute-call",
        {"target": ACCOUNT, "function": "f(uint256,address)", "args": [1, EXCHANGED]},
    ),
    "an argument within a struct": (
        "POST /execute-call",
        {"target": ACCOUNT, "function": "f((address,bool)[])", "args": [[[EXCHANGED, True]]]},
    ),
    "an adapter": ("POST /unwind-call", {"adapter": EXCHANGED}),
    "a reported target": (
        "POST /events",
        {"kind": "buy", "amount_usdc": "1", "payload": {"target": EXCHANGED}},
    ),
    "the target of a position": (
        "POST /events",
        {"kind": "note", "payload": {"position": {"id": "a", "target": {"address": EXCHANGED}}}},
    ),
    "an author": (
        "POST /stop",
        {
            "author": {
                "signer": EXCHANGED,
                "sequence": 1,
                "prev": "0x" + "11" * 32,
                "signature": "0x",
            }
        },
    ),
}
OWNERS = ("GET /withdraw-call", "GET /set-agent-call", "POST /mandates", "POST /stop")


@each("door", WRITTEN)
def test_a_wrong_checksum__is_400_that_names_it(stage: Stage, door: str) -> None:
    (call, said) = WRITTEN[door]
    method, _, name = call.partition(" ")
    who = stage.owner if call in OWNERS else stage.agent
    if name == "/mandates":
        terms = {"purpose": "Hold.", "budget_usdc": "10", "horizon_days": 3, "stop_floor_bps": 500}
        answer = stage.call(method, name, who, terms | said)
    elif method == "GET":
        answer = stage.call(method, f"/mandates/{stage.working()}{name}", who, **said)
    else:
        amount = {"amount_usdc": "1"} if name == "/execute-call" else {}
        answer = stage.call(method, f"/mandates/{stage.working()}{name}", who, amount | said)
    assert reason(answer) == (400, "invalid_parameter"), answer.text
    detail = answer.json()["detail"]
    assert "its EIP-55 checksum, which is in the capital letters, is wrong" in detail.replace(
        "Its", "its"
    )
    assert EXCHANGED not in detail
