"""A key that another process holds, asked over JSON-RPC: Web3Signer, or any signer with
`eth_signTransaction`.

    transaction --> eth_signTransaction (from, to, nonce, ..., quantities as 0x hex) --> raw bytes --> checked --> caller

Laws
- What comes back is checked before anybody sees it: exactly the fields that were asked for, of
  exactly our account. A signer that is configured for another chain, or that somebody else answers
  for, gets nothing sent.
- An answer takes at most `answer_s`; nothing is asked twice.
- Neither URL nor token is ever shown, in errors or repr.
Source: https://docs.web3signer.consensys.io/reference/api/json-rpc; clef and geth answer `{raw,
tx}` where Web3Signer answers raw.
"""

from collections.abc import Mapping
from typing import Any

import httpx
from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError
from hexbytes import HexBytes
from rlp.exceptions import RLPException
from web3.types import RPCEndpoint

from core.chain import results
from core.chain.errors import NodeFailure, RpcError, refused
from core.chain.provider import NodeProvider, client_of, finished
from core.chain.signatures import HALF_ORDER
from core.hexes import bytes_of, checksum_address, hex_of

ANSWER_S = 3.0
QUANTITIES = ("chainId", "nonce", "value", "gas", "maxFeePerGas", "maxPriorityFeePerGas")


class RemoteSignerError(RpcError):
    """The remote signer gave no signature that may be used: it is down, it refused, or it signed
    something else.
    """

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"the remote signer of {address} {why}")


class RemoteSigner:
    """One account of a remote signer. Safe to share between threads."""

    def __init__(
        self, url: str, address: str, *, token: str | None = None, answer_s: float = ANSWER_S
    ) -> None:
        """`token` goes along as `Authorization: Bearer`. A private authority of the TLS
        certificate: SSL_CERT_FILE.
        """
        self.address = checksum_address(address)
        # of the environment it takes SSL_CERT_FILE alone
        self._client = client_of(httpx.AsyncHTTPTransport(), token)
        self._provider, self._answer_s = NodeProvider(url, self._client), answer_s

    def sign_transaction(self, transaction: dict[str, Any]) -> bytes:
        """The raw bytes of exactly this transaction. Errors: RemoteSignerError."""
        asked = {"from": self.address, **_fields(transaction), "to": transaction["to"]}
        answer = self._ask("eth_signTransaction", [asked])
        try:
            raw = bytes_of(answer["raw"] if isinstance(answer, dict) else answer)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise RemoteSignerError(
                self.address, "answered something else than a raw transaction"
            ) from None
        return self._checked(raw, _fields(transaction))

    def require_key(self) -> None:
        """Nothing happens while it answers and holds the account. Errors: RemoteSignerError."""
        accounts = self._ask("eth_accounts", [])
        if not isinstance(accounts, list) or self.address.lower() not in [
            str(account).lower() for account in accounts
        ]:
            raise RemoteSignerError(self.address, "does not hold that account")

    def close(self) -> None:
        finished(self._client.aclose())

    def __repr__(self) -> str:
        return f"RemoteSigner({self.address})"

    def _ask(self, method: str, parameters: list[Any]) -> Any:
        try:
            response = self._provider.make_request(RPCEndpoint(method), parameters, self._answer_s)
            if "error" in response:
                raise refused(method, response["error"])
            return results.plain(response["result"])
        except (RpcError, NodeFailure, ValueError) as error:
            raise RemoteSignerError(self.address, f"does not sign: {error}") from None

    def _checked(self, raw: bytes, asked: Mapping[str, str]) -> bytes:
        try:
            signed = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
            signer = Account.recover_transaction(raw)
        except (
            ValueError,
            TypeError,
            IndexError,
            KeyError,
            BadSignature,
            ValidationError,
            RLPException,
        ) as error:
            raise RemoteSignerError(
                self.address,
                f"answered bytes that are no signed transaction ({type(error).__name__})",
            ) from None
        changed = [name for name, value in _fields(signed).items() if asked[name] != value]
        if changed or signed["accessList"]:
            raise RemoteSignerError(
                self.address,
                f"signed another {', '.join(changed) or 'accessList'} than was asked for",
            )
        if signer != self.address or signed["s"] > HALF_ORDER:
            raise RemoteSignerError(
                self.address, "signed with another key, or in a form that no node takes"
            )
        return raw


def _fields(transaction: Mapping[str, Any]) -> dict[str, str]:
    """What decides what is done, as JSON-RPC takes it: data and quantities as 0x hex."""
    return {
        "to": hex_of(HexBytes(transaction["to"])),
        "data": hex_of(HexBytes(transaction["data"])),
        "type": hex(transaction["type"]),
        **{name: hex(transaction[name]) for name in QUANTITIES},
    }
