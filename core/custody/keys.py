"""Custodial keys: made and sealed by the API, opened by the keeper for one signature at a time.

    API      KeyMaker       a new key -> sealed -> row; the plain key is forgotten
    keeper   CustodySigner  row -> opened -> one signature; the plain key is forgotten

Laws
- A seal is AES-256-GCM with a fresh nonce. Account and address are its associated data: a
  ciphertext that was moved to another row does not open.
- Key-encryption keys are identified by a digest of their own (`version`), so that an operator
  numbers nothing and a wrong key is known before anything is tried.
- No plain key is in a repr, an error or a log.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from coincurve import PrivateKey
from Crypto.Cipher import AES
from eth_account import Account
from eth_utils.crypto import keccak

from core.chain.signatures import V_OFFSET
from core.chain.signer import LocalKeySigner
from core.custody.rules import SealedKey
from core.errors import OutsideError
from core.hexes import bytes_of, hex_of

KEY_BYTES = 32
NONCE_BYTES = 12  # the size that GCM is defined for without hashing
TAG_BYTES = 16
VERSION_BYTES = 8


class CustodyError(OutsideError):
    """A custodial key cannot be opened; its operator has to act."""


class UnknownKeyVersionError(CustodyError):
    def __init__(self, version: str) -> None:
        super().__init__(
            f"the wallet is sealed with key version {version}, which neither CUSTODY_KEY nor "
            "CUSTODY_OLD_KEYS has"
        )
        self.version = version


class BrokenSealError(CustodyError):
    def __init__(self, address: str) -> None:
        super().__init__(
            f"the sealed key in the row of {address} does not belong to this row, or was "
            "changed; restore the row from a backup"
        )
        self.address = address


def version_of(key: bytes) -> str:
    """The name of a key-encryption key: 16 hex characters that say nothing of it."""
    return keccak(b"custody key version:" + key)[:VERSION_BYTES].hex()


def authorization_nonce(request_key: str) -> str:
    """The EIP-3009 nonce of a transfer: the same request is the same authorization, however often
    it is signed and sent.
    """
    return hex_of(keccak(text=f"custodial transfer:{request_key}"))


class KeyRing:
    """Key-encryption keys, 32 bytes each, the one for new seals first.

    Errors: ValueError for none or a wrong size.
    """

    __slots__ = ("_keys", "version")

    def __init__(self, keys: Sequence[bytes]) -> None:
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"a key ring holds one key or more of {KEY_BYTES} bytes")
        self._keys = {version_of(key): key for key in keys}
        self.version = version_of(keys[0])

    def __contains__(self, version: str) -> bool:
        return version in self._keys

    def __repr__(self) -> str:
        return f"KeyRing({', '.join(self._keys)})"

    def seal(self, private_key: bytes, account_id: int) -> SealedKey:
        """Seal with the first key, for the row of that account and the key's own address."""
        address = LocalKeySigner(private_key).address
        bare = SealedKey(
            account_id=account_id, address=address, ciphertext=b"", key_version=self.version
        )
        cipher = AES.new(
            self._keys[self.version],
            AES.MODE_GCM,
            nonce=secrets.token_bytes(NONCE_BYTES),
            mac_len=TAG_BYTES,
        )
        cipher.update(bare.bound_to)
        encrypted, tag = cipher.encrypt_and_digest(private_key)
        return replace(bare, ciphertext=bytes(cipher.nonce) + tag + encrypted)

    def open(self, sealed: SealedKey) -> bytes:
        """The plain key. Errors: UnknownKeyVersionError, BrokenSealError."""
        key = self._keys.get(sealed.key_version)
        if key is None:
            raise UnknownKeyVersionError(sealed.key_version)
        nonce, rest = sealed.ciphertext[:NONCE_BYTES], sealed.ciphertext[NONCE_BYTES:]
        try:
            cipher = AES.new(key, AES.MODE_GCM, nonce=nonce, mac_len=TAG_BYTES)
            cipher.update(sealed.bound_to)
            return cipher.decrypt_and_verify(rest[TAG_BYTES:], rest[:TAG_BYTES])
        except ValueError:
            raise BrokenSealError(sealed.address) from None


class KeyMaker:
    """What the API may do with custodial keys: make and seal them."""

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    def new_key(self, account_id: int) -> SealedKey:
        """A fresh key from the system's randomness, sealed for the account's row."""
        return self._ring.seal(bytes(Account.create().key), account_id)

    def require_known(self, sealed: SealedKey) -> None:
        """Whether a process with these keys could open it. Errors: UnknownKeyVersionError."""
        if sealed.key_version not in self._ring:
            raise UnknownKeyVersionError(sealed.key_version)


class CustodySigner:
    """What the keeper may do with custodial keys: sign a digest, and seal a key again under the
    newest one.
    """

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    @property
    def version(self) -> str:
        """Of the key that new seals are made with."""
        return self._ring.version

    def require_opens(self, sealed: SealedKey) -> None:
        """Before anything is written that needs a signature. Errors: as sign_digest."""
        self._ring.open(sealed)

    def sign_digest(self, sealed: SealedKey, digest: str) -> str:
        """As Signer.sign_digest, by the wallet's key.

        Errors: UnknownKeyVersionError, BrokenSealError.
        """
        # Straight by libsecp256k1: eth_account would derive the public key and the address of each
        # key again, which the seal vouches for.
        signature = PrivateKey(self._ring.open(sealed)).sign_recoverable(
            bytes_of(digest), hasher=None
        )
        return hex_of(signature[:-1] + bytes([signature[-1] + V_OFFSET]))

    def resealed(self, sealed: SealedKey) -> SealedKey:
        """The same key under the newest key-encryption key. Errors: as sign_digest."""
        return self._ring.seal(self._ring.open(sealed), sealed.account_id)
