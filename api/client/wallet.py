"""A key and a node: what builds a call is the service, what signs and sends it is this, on the
caller's own machine.
"""

import time
from collections.abc import Mapping
from typing import Any, Self

import httpx

from api.client.signing import account_of

WAIT_S = 60.0
POLL_S = 0.1


class NodeError(Exception):
    """The node refused or does not answer; a call that would revert is refused here, before it
    costs anything.
    """


class Wallet:
    """`account` signs; `send` pays gas from it.

    Not for sharing between threads: transactions follow one another.
    """

    def __init__(self, private_key: str, rpc_url: str) -> None:
        self.account = account_of(private_key)
        self.address = str(self.account.address)
        self._http = httpx.Client(timeout=15)
        self._rpc_url = rpc_url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def send(self, call: Mapping[str, Any], *, gas: int | None = None) -> dict[str, Any]:
        """Sign and send a call as the service builds it ({to, data}, and `value` in wei if any),
        and wait for its receipt.

        `gas` given: a call that will revert is sent all the same. Answers {tx_hash, succeeded,
        block, gas_used}.
        Errors: NodeError; TimeoutError when it is not mined within 60 s, with its hash.
        """
        to, data, value_wei = call["to"], call.get("data", "0x"), int(call.get("value", 0))
        fields = {"from": self.address, "to": to, "data": data, "value": hex(value_wei)}
        limit = gas if gas is not None else int(self._ask("eth_estimateGas", fields), 16) * 5 // 4
        price_wei, tip_wei = (
            int(self._ask(name), 16) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas")
        )
        signed = self.account.sign_transaction(
            {
                "to": to,
                "data": data,
                "value": value_wei,
                "chainId": int(self._ask("eth_chainId"), 16),
                "nonce": int(self._ask("eth_getTransactionCount", self.address, "pending"), 16),
                "gas": limit,
                "maxFeePerGas": 2 * price_wei + tip_wei,
                "maxPriorityFeePerGas": tip_wei,
            }
        )
        return self._mined(self._ask("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex()))

    def _mined(self, tx_hash: str) -> dict[str, Any]:
        ends = time.monotonic() + WAIT_S
        while time.monotonic() < ends:
            receipt = self._ask("eth_getTransactionReceipt", tx_hash)
            if receipt is not None:
                return {
                    "tx_hash": tx_hash,
                    "succeeded": receipt["status"] == "0x1",
                    "block": int(receipt["blockNumber"], 16),
                    "gas_used": int(receipt["gasUsed"], 16),
                }
            time.sleep(POLL_S)
        raise TimeoutError(
            f"{tx_hash} was sent and is not mined after {WAIT_S:.0f} s; look for it before you "
            "send again"
        )

    def _ask(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        try:
            answer = self._http.post(self._rpc_url, json=body).json()
        except (httpx.TransportError, ValueError) as error:
            raise NodeError(
                f"{method}: the node at {self._rpc_url} does not answer: {error!r}"
            ) from error
        if "error" in answer:
            raise NodeError(f"{method}: {answer['error'].get('message', answer['error'])}")
        return answer.get("result")
