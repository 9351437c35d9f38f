"""What the demo acts with: wallets that sign and send, a client of the public API, and reads of the
chain.
"""

from dataclasses import dataclass
from typing import Any

import httpx
from eth_account import Account
from eth_typing import HexStr
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3 import HTTPProvider, Web3
from web3.types import LogReceipt, TxParams, TxReceipt

from api.client import sign_text
from core.selectors import selector_of

BALANCE_OF = selector_of("balanceOf(address)")


class StepFailedError(Exception):
    """A step failed; the message says what was expected and what came."""


@dataclass(frozen=True, slots=True)
class Chain:
    web3: Web3
    id: int

    def balance_of(self, holder: str, token: str) -> int:
        data = BALANCE_OF + holder.removeprefix("0x").rjust(64, "0")
        answer = self.web3.eth.call({"to": to_checksum_address(token), "data": HexStr(data)})
        return int.from_bytes(answer)

    def logs(self, address: str, event: str, from_block: int = 0) -> list[LogReceipt]:
        topic = "0x" + keccak(text=event).hex()
        return self.web3.eth.get_logs(
            {
                "address": to_checksum_address(address),
                "topics": [HexStr(topic)],
                "fromBlock": from_block,
            }
        )

    def sender_of(self, tx_hash: Any) -> str:
        return str(self.web3.eth.get_transaction(tx_hash)["from"])

    def cash_of(self, vault: str) -> dict[str, int]:
        """The signed sums of the vault's money events, read from the chain's logs alone.

        USDC base units.
        """

        def words(event: str) -> list[list[int]]:
            return [
                [
                    int.from_bytes(log["data"][n : n + 32], "big")
                    for n in range(0, len(log["data"]), 32)
                ]
                for log in self.logs(vault, event)
            ]

        executed = words("Executed(uint256,address,bytes4,uint256,uint256,uint256)")
        return {
            "deposited": sum(row[0] for row in words("Deposited(address,uint256,uint256,uint256)")),
            "spent": -sum(row[0] for row in executed),
            "received": sum(row[1] for row in executed)
            + sum(row[0] for row in words("Unwound(address,address,bytes4,uint256,uint256)")),
            "withdrawn": -sum(
                row[0] for row in words("Withdrawn(address,address,uint256,uint256)")
            ),
            "paid_out": -sum(row[1] for row in words("Settled(address,uint256,uint256,uint256)")),
        }


def chain_of(rpc_url: str) -> Chain:
    web3 = Web3(HTTPProvider(rpc_url, request_kwargs={"timeout": 10}))
    return Chain(web3, web3.eth.chain_id)


class StoryWallet:
    """A key that sends transactions; api.client.signing signs with its account."""

    def __init__(self, chain: Chain, private_key: str) -> None:
        self.chain = chain
        self.account = Account.from_key(private_key)
        self.address = str(self.account.address)

    def send(self, to: str, data: str, gas: int | None = None) -> TxReceipt:
        """Send and wait for the receipt.

        With `gas` given, a call that will revert is sent all the same.
        """
        eth = self.chain.web3.eth
        sender = to_checksum_address(self.address)
        call: TxParams = {
            "from": sender,
            "to": to_checksum_address(to),
            "data": HexStr(data),
        }
        transaction: dict[str, Any] = {
            **call,
            "chainId": self.chain.id,
            "nonce": eth.get_transaction_count(sender),
            "gas": gas if gas is not None else eth.estimate_gas(call) * 5 // 4,
            "maxFeePerGas": 2 * eth.gas_price,
            "maxPriorityFeePerGas": 0,
        }
        raw = self.account.sign_transaction(transaction).raw_transaction
        return eth.wait_for_transaction_receipt(
            eth.send_raw_transaction(raw), timeout=20, poll_latency=0.05
        )


class Api:
    """A client of the public API.

    A status other than the expected one ends the step with the service's own words.
    """

    def __init__(self, base_url: str, key: str | None = None, bearer: str | None = None) -> None:
        self.base_url = base_url
        self.key = key
        self.bearer = bearer
        self.http = httpx.Client(base_url=base_url, timeout=15)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return dict(self._call("GET", path, params=query).json())

    def text(self, path: str) -> str:
        return self._call("GET", path).text

    def post(
        self, path: str, body: Any, *, status: int = 200, idempotency_key: str | None = None
    ) -> dict[str, Any]:
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        return dict(self._call("POST", path, status, json=body, headers=headers).json())

    def put(self, path: str, body: Any) -> dict[str, Any]:
        return dict(self._call("PUT", path, json=body).json())

    def sign_in(self, wallet: StoryWallet, purpose: str, path: str) -> dict[str, Any]:
        """Ask for a message, sign it as it is, hand it in."""
        nonce = self.post(
            "/auth/wallet/nonce", {"wallet_address": wallet.address, "purpose": purpose}
        )
        signature = sign_text(wallet.account, nonce["message"])
        if purpose == "login":
            return self.post(path, {"message": nonce["message"], "signature": signature})
        return self.post(path, {"wallet_address": wallet.address, "signature": signature})

    def _call(self, method: str, path: str, status: int = 200, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if self.key is not None:
            headers["X-SVC-User-Key"] = self.key
        if self.bearer is not None:
            headers["Authorization"] = f"Bearer {self.bearer}"
        answer = self.http.request(method, path, headers=headers, **more)
        if answer.status_code != status:
            raise StepFailedError(
                f"{method} {path}: expected {status}, got {answer.status_code} {answer.text[:600]}"
            )
        return answer
