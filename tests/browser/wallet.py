"""An EIP-6963 wallet for the browser under test: it signs with a key here and forwards the rest to the chain.

What a person does in a wallet is set on it: `rejects`, `chain_id`, `batches`, `holds_back`, `is_asleep`
(nobody answers a request to send before `wake`); and its node may be down (`node_is_down`), or refuse to
run a call (`refuses_calls`: with that error).
"""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_utils.address import to_checksum_address
from playwright.sync_api import Page

REJECTED = {"code": 4001, "message": "User rejected the request."}
ANSWERED_WITHIN_S = 20
GAS_LIMIT = 6_000_000

INJECTED = """
(() => {
  const { id, uuid, name } = __WALLET__;
  const listeners = {};
  const sleeping = [];
  (window.__wake ??= {})[id] = () => sleeping.splice(0).forEach((one) => one());
  const provider = {
    async request({ method, params }) {
      const answer = JSON.parse(await window.__wallet(id, method, JSON.stringify(params ?? [])));
      if (answer.isAsleep) {
        await new Promise((wake) => sleeping.push(wake));
        return provider.request({ method, params });
      }
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
      return answer.result;
    },
    on(event, listener) { (listeners[event] ??= []).push(listener); },
    removeListener(event, listener) { listeners[event] = (listeners[event] ?? []).filter((one) => one !== listener); },
  };
  (window.__emit ??= {})[id] = (event, value) => (listeners[event] ?? []).forEach((one) => one(value));
  const icon = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>";
  const detail = Object.freeze({ info: { uuid, name, icon, rdns: `test.wallet${id}` }, provider });
  const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
  window.addEventListener("eip6963:requestProvider", announce);
  announce();
})();
"""


@dataclass
class BrowserWallet:
    """`sent`: hashes of the transactions that it sent. `asked`: methods that the page asked for. `held`:
    transactions that it was asked for asleep.
    """

    private_key: str
    rpc_url: str
    name: str = "Test Wallet"
    chain_id: int | None = None
    rejects: bool = False
    batches: bool = False
    holds_back: bool = False
    is_asleep: bool = False
    node_is_down: bool = False
    refuses_calls: dict[str, Any] | None = None
    sent: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    held: list[dict[str, Any]] = field(default_factory=list)
    _batches: dict[str, list[str]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return str(Account.from_key(self.private_key).address)

    def answer(self, method: str, params: list[Any]) -> Any:
        self.asked.append(method)
        if self.is_asleep and method in ("eth_sendTransaction", "wallet_sendCalls"):
            self.held.append(params[0])
            return {"isAsleep": True}
        if self.refuses_calls is not None and method == "eth_call":
            return {"error": self.refuses_calls}
        special = getattr(self, f"_{method}", None)
        return self._forward(method, params) if special is None else special(params)

    def _eth_requestAccounts(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        return {"error": REJECTED} if self.rejects else {"result": [self.address]}

    def _eth_accounts(self, params: list[Any]) -> Any:
        return {"result": [self.address]}

    def _eth_chainId(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        if self.chain_id is None:
            return self._forward("eth_chainId", [])
        return {"result": hex(self.chain_id)}

    def _wallet_switchEthereumChain(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        if self.rejects:
            return {"error": REJECTED}
        self.chain_id = None
        return {"result": None}

    def _personal_sign(self, params: list[Any]) -> Any:
        message = encode_defunct(hexstr=params[0])
        return self._signed(message)

    def _eth_signTypedData_v4(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        return self._signed(encode_typed_data(full_message=json.loads(params[1])))

    def _signed(self, message: Any) -> Any:
        if self.rejects:
            return {"error": REJECTED}
        signed = Account.from_key(self.private_key).sign_message(message)
        return {"result": signed.signature.to_0x_hex()}

    def _eth_sendTransaction(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        return {"error": REJECTED} if self.rejects else self._send(params[0])

    def _send(self, call: dict[str, Any]) -> Any:
        if self.holds_back:
            return {"result": "0x" + "ab" * 32}
        nonce = int(
            self._forward("eth_getTransactionCount", [self.address, "pending"])["result"], 16
        )
        price = int(self._forward("eth_gasPrice", [])["result"], 16)
        signed = Account.from_key(self.private_key).sign_transaction(
            {
                "to": to_checksum_address(call["to"]),
                "data": call["data"],
                "value": int(call.get("value", "0x0"), 16),
                "nonce": nonce,
                "gas": GAS_LIMIT,
                "gasPrice": price * 2,
                "chainId": int(self._forward("eth_chainId", [])["result"], 16),
            }
        )
        answer = self._forward("eth_sendRawTransaction", [signed.raw_transaction.to_0x_hex()])
        if "result" in answer:
            self.sent.append(answer["result"])
        return answer

    def _wallet_getCapabilities(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        if not self.batches:
            return {"error": {"code": -32601, "message": "method not found"}}
        return {"result": {params[1][0]: {"atomic": {"status": "supported"}}}}

    def _wallet_sendCalls(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        hashes = [self._send(call)["result"] for call in params[0]["calls"]]
        batch = f"0x{len(self._batches) + 1:064x}"
        self._batches[batch] = hashes
        return {"result": {"id": batch}}

    def _wallet_getCallsStatus(self, params: list[Any]) -> Any:  # noqa: N802  # JSON-RPC's name
        hashes = self._batches[params[0]]
        receipts = [
            self._forward("eth_getTransactionReceipt", [one]).get("result") for one in hashes
        ]
        status = 200 if all(receipts) else 100
        return {
            "result": {
                "version": "2.0.0",
                "status": status,
                "atomic": True,
                "receipts": [one for one in receipts if one],
            }
        }

    def _forward(self, method: str, params: list[Any]) -> Any:
        if self.node_is_down:
            return {"error": {"code": -32603, "message": "the node does not answer"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = httpx.post(self.rpc_url, json=body, timeout=ANSWERED_WITHIN_S).json()
        return {"error": answer["error"]} if "error" in answer else {"result": answer.get("result")}


def install(page: Page, *wallets: BrowserWallet) -> None:
    """Announce these wallets in each page that this one opens from now on."""

    def handle(number: int, method: str, params: str) -> str:
        return json.dumps(wallets[number].answer(method, json.loads(params)))

    page.expose_function("__wallet", handle)
    for number, wallet in enumerate(wallets):
        uuid = f"{number:08d}-1111-4111-8111-111111111111"
        told = json.dumps({"id": number, "uuid": uuid, "name": wallet.name})
        page.add_init_script(INJECTED.replace("__WALLET__", told))


def emit(page: Page, event: str, value: Any, wallet: int = 0) -> None:
    """What a wallet tells the page of its own: `accountsChanged`, `chainChanged`."""
    page.evaluate("([id, event, value]) => window.__emit[id](event, value)", [wallet, event, value])


def wake(page: Page, *wallets: BrowserWallet) -> None:
    """Whoever has these wallets answers what they were asked."""
    for number, wallet in enumerate(wallets):
        wallet.is_asleep = False
        page.evaluate("id => window.__wake[id]()", number)
