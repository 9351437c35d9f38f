"""The signing port, and the key that settings name. Signers are built in `*/main.py` only (law 4) and
handed down.
"""

import json
from pathlib import Path
from typing import Any, Final, Protocol

from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_typing import Hash32
from pydantic import SecretStr

from core.errors import InvalidParameterError
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


# what a file raises that is no keystore, in any layer of the library that opens it
UNOPENED: Final = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    NotImplementedError,
    RecursionError,
)


def local_signer(
    prefix: str, plain: SecretStr | None, keystore: Path | None, password_file: Path | None
) -> LocalKeySigner | None:
    """Of the settings <prefix>_PRIVATE_KEY, or _KEYSTORE and _KEYSTORE_PASSWORD_FILE; None: none is
    set. Errors: InvalidParameterError, which shows nothing of the key.
    """
    if plain is not None:
        if keystore is not None:
            raise InvalidParameterError(
                f"{prefix}_KEYSTORE", f"set it or {prefix}_PRIVATE_KEY, not both"
            )
        try:
            return LocalKeySigner(bytes.fromhex(plain.get_secret_value().removeprefix("0x")))
        except ValueError:  # of eth_keys, too
            rule = "write 32 bytes as hex"
            raise InvalidParameterError(f"{prefix}_PRIVATE_KEY", rule) from None
    if keystore is None and password_file is None:
        return None
    if keystore is None or password_file is None:
        raise InvalidParameterError(
            f"{prefix}_KEYSTORE" + ("" if keystore is None else "_PASSWORD_FILE"),
            f"set {prefix}_KEYSTORE and {prefix}_KEYSTORE_PASSWORD_FILE both",
        )
    try:
        encrypted = json.loads(keystore.read_text())
        return LocalKeySigner(bytes(Account.decrypt(encrypted, secret_of(password_file))))
    except UNOPENED as error:
        raise InvalidParameterError(
            f"{prefix}_KEYSTORE",
            f"{keystore} can't be opened ({type(error).__name__}); check file and password",
        ) from None


def secret_of(file: Path) -> str:
    """All that it holds but the end of its last line. Errors: OSError, ValueError."""
    return file.read_text().rstrip("\r\n")
