"""Wallets for pages under test: injected by script, signing with a persona's key, forwarding the
rest to the chain.

Playwright runs what a page asks on the test's own thread, whenever the test waits for the page.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

from core.chain.errors import RpcRevertedError
from core.chain.nodes import Nodes
from core.hexes import hex_of
from tests.personas import OWNER, Persona

SCRIPT = (Path(__file__).parent / "provider.js").read_text()
GAS = 3_000_000
FEE_WEI = 20_000_000_000
ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/%3E"


class WalletRefusal(Exception):
    """What the wallet answers in place of a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


@dataclass(slots=True)
class ScriptedWallet:
    """One wallet. `answers` takes the place of a method: it gets the parameters and answers the
    result, or raises WalletRefusal. While it `is_asleep` nobody answers a request to send.
    """

    rpc: Nodes
    persona: Persona = OWNER
    name: str = "Test wallet"
    uuid: str = "6f1d6c9e-0000-4000-8000-000000000001"
    rdns: str = "org.example.wallet"
    icon: str = ICON
    chain_id: int = 84532
    is_announced: bool = True
    is_injected: bool = False
    has_access: bool = False
    is_asleep: bool = False
    answers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    asked: list[tuple[str, list[Any]]] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    held: list[dict[str, str]] = field(default_factory=list)
    _events: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def script(self) -> str:
        announcement = {
            "uuid": self.uuid,
            "name": self.name,
            "rdns": self.rdns,
            "icon": self.icon,
            "isAnnounced": self.is_announced,
            "isInjected": self.is_injected,
        }
        return SCRIPT.replace("__WALLET__", json.dumps(announcement))

    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]

    def answer(self, method: str, params: list[Any]) -> dict[str, Any]:
        self.asked.append((method, params))
        self._events = []
        if self.is_asleep and method == "eth_sendTransaction":
            self.held.append(params[0])
            return {"isAsleep": True}
        try:
            own = self.answers.get(method) or getattr(self, f"_{method}", None)
            result = self._forward(method, params) if own is None else own(*params)
        except WalletRefusal as refusal:
            return {"error": refusal.error, "events": self._events}
        return {"result": result, "events": self._events}

    def _forward(self, method: str, params: list[Any]) -> Any:
        try:
            return self.rpc.call(method, params)
        except RpcRevertedError as error:
            inner = {"code": 3, "message": "execution reverted", "data": hex_of(error.revert_data)}
            raise WalletRefusal(-32603, "Internal JSON-RPC error.", inner) from error

    # What a wallet answers itself

    def _eth_requestAccounts(self) -> list[str]:  # noqa: N802
        self.has_access = True
        return self._eth_accounts()

    def _eth_accounts(self) -> list[str]:
        return [self.persona.address] if self.has_access else []

    def _eth_chainId(self) -> str:  # noqa: N802
        return hex(self.chain_id)

    def _wallet_switchEthereumChain(self, wanted: dict[str, str]) -> None:  # noqa: N802
        self.chain_id = int(wanted["chainId"], 16)
        self._events.append(("chainChanged", wanted["chainId"]))

    def _personal_sign(self, message: str, _address: str) -> str:
        signable = encode_defunct(hexstr=message)
        return str(Account.sign_message(signable, self.persona.private_key).signature.to_0x_hex())

    def _eth_signTypedData_v4(self, _address: str, text: str) -> str:  # noqa: N802
        signable = encode_typed_data(full_message=json.loads(text))
        return str(Account.sign_message(signable, self.persona.private_key).signature.to_0x_hex())

    def _eth_sendTransaction(self, call: dict[str, str]) -> str:  # noqa: N802
        nonce = int(self._forward("eth_getTransactionCount", [call["from"], "pending"]), 16)
        tx_hash = str(self._forward("eth_sendRawTransaction", [self.signed(call, nonce)]))
        self.sent.append(tx_hash)
        return tx_hash

    def signed(self, call: dict[str, str], nonce: int, fee_wei: int = FEE_WEI) -> str:
        """A raw transaction of the persona's; gas is fixed, so that one that reverts is sent too."""
        transaction = {
            "chainId": self.chain_id,
            "nonce": nonce,
            "to": call["to"],
            "data": call.get("data", "0x"),
            "value": int(call.get("value", "0x0"), 16),
            "gas": GAS,
            "maxFeePerGas": fee_wei,
            "maxPriorityFeePerGas": 1_000_000_000,
        }
        return hex_of(self.persona.signer.sign_transaction(transaction))


def rejected(*_: Any) -> Any:
    """The user presses Reject."""
    raise WalletRefusal(4001, "User rejected the request.")
