"""A vault's views, read together: what no vault can say is the node's failure, and the next node is
asked.
"""

import json
from typing import Any

import httpx

from core.chain.abi import function
from core.chain.rpc import Rpc
from core.mandate.chain.reader import VaultReader
from core.mandate.chain.vault_snapshot import VIEWS
from core.mandate.rules.lifecycle import Status
from tests.each import each

VAULT = "0x" + "11" * 20
USDC = "0x" + "22" * 20
BLOCK = {
    "hash": "0x" + "ab" * 32,
    "parentHash": "0x" + "cd" * 32,
    "number": "0x10",
    "timestamp": "0x64000000",
    "transactions": [],
}
WORKING = {
    "worth": 5,
    "status": 1,
    "agent": int(VAULT, 16),
    "payee": int(VAULT, 16),
    "stoppedAt": 0,
    "totals": 0,
    "feeOwed": 0,
}


class Nodes(httpx.BaseTransport):
    """`first` says of a view what the test says; `second` tells of a vault that works."""

    def __init__(self, lie: dict[str, int]) -> None:
        self._said = {"first": WORKING | lie, "second": WORKING}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        said = self._said[request.url.host]
        answers = [
            self._answer(call, said) for call in (body if isinstance(body, list) else [body])
        ]
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def _answer(self, call: dict[str, Any], said: dict[str, int]) -> dict[str, Any]:
        if call["method"] != "eth_call":
            return {
                "jsonrpc": "2.0",
                "id": call["id"],
                "result": {**BLOCK, "logsBloom": "0x" + "0" * 512},
            }
        data = call["params"][0]["data"]
        name = next(
            (view for view in VIEWS if data.startswith(function("MandateVault", view).selector)),
            None,
        )
        value = 0 if name is None else said[name]
        return {
            "jsonrpc": "2.0",
            "id": call["id"],
            "result": "0x" + f"{value:064x}" * {"totals": 7, "worth": 2}.get(str(name), 1),
        }


@each("lie", [{"status": 4}, {"status": 255}, {"stoppedAt": 2**63}, {"stoppedAt": 2**36}], ids=str)
def test_a_status_or_time_that_no_vault_has__is_that_nodes_failure(lie: dict[str, int]) -> None:
    """2^63 once passed the reader and overflowed where the time was made; a wrong status blamed
    nobody.
    """
    rpc = Rpc(["http://first", "http://second"], transport=Nodes(lie))
    seen = VaultReader(rpc, {"usdc": USDC}).vault_seen(VAULT)
    assert (seen.status, seen.stopped_at) == (Status.WORKING, 0)
    assert sum(rpc.stats()[0].failures.values()) > 0
    rpc.close()
