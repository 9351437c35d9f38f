"""The signing port. Signers are built in `*/main.py` only (law 4) and handed down."""

import json
from pathlib import Path
from typing import Any, Protocol

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_typing import Hash32

from core.hexes import bytes_of


class Signer(Protocol):
    """Something that holds a key and signs transactions with it."""

    @property
    def address(self) -> str:
        """Checksum address of the key."""
        ...

    def sign_transaction(self, transaction: dict[str, Any]) -> bytes:
        """The signed raw transaction, ready for eth_sendRawTransaction.

        `transaction` is whole: type 2, chainId, nonce, to, data, value, gas, maxFeePerGas,
        maxPriorityFeePerGas (wei).
        Errors: OutsideError when the key is held elsewhere and no usable signature came in time.
        """
        ...

    def require_key(self) -> None:
        """Nothing happens while the key can sign.

        Errors: OutsideError when it is held elsewhere and can't be reached.
        """
        ...


class DigestSigner(Protocol):
    """Something that holds a key and signs 32 bytes with it."""

    @property
    def address(self) -> str:
        """Checksum address of the key."""
        ...

    def sign_digest(self, digest: str) -> str:
        """r, s, v as 0x hex of 65 bytes, v 27 or 28, low s."""
        ...


class LocalKeySigner:
    """A key in this process's memory. Its repr and errors never show the key."""

    def __init__(self, private_key: str | bytes) -> None:
        self._account: LocalAccount = Account.from_key(private_key)

    @classmethod
    def from_keystore(cls, keystore: Path, password: str) -> "LocalKeySigner":
        """Open an encrypted JSON keystore (V3). Errors: OSError, ValueError on a wrong password."""
        return cls(bytes(Account.decrypt(json.loads(keystore.read_text()), password)))

    @property
    def address(self) -> str:
        return str(self._account.address)

    def sign_transaction(self, transaction: dict[str, Any]) -> bytes:
        return bytes(self._account.sign_transaction(transaction).raw_transaction)

    def require_key(self) -> None:
        """It is here."""

    def sign_digest(self, digest: str) -> str:
        """Sign 32 bytes (0x hex): r, s, v as 0x hex of 65 bytes, v 27 or 28, low s."""
        signed = self._account.unsafe_sign_hash(Hash32(bytes_of(digest)))
        return "0x" + bytes(signed.signature).hex()

    def __repr__(self) -> str:
        return f"LocalKeySigner({self.address})"
