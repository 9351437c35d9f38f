"""Whether a wallet signed a digest: a key's ECDSA signature, or the word of a contract wallet
(ERC-1271, ERC-6492).

A key's signature has one form, which the contracts take: 65 bytes r, s, v with v 27 or 28. Doors take
it in two others, too (`key_signature`), and keep it in that one.

The order is the factory's (MandateVaultFactory._isSignedBy): the key first, because an EIP-7702
account has code and still signs with its key; then a signature that carries the wallet's creation;
then, if the address has code, the contract. What the factory would refuse is refused here.
"""

from functools import lru_cache
from typing import Protocol

from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from core.chain.reader import LATEST, At
from core.hexes import bytes_of, hex_of

SIGNATURE_BYTES = 65
COMPACT_BYTES = 64
_HIGHEST_BIT = 1 << 255
# Half of secp256k1's order: above it a signature is the malleable twin of another (EIP-2).
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
V_OFFSET = 27


# The last 32 bytes of a signature that carries the creation of its wallet.
ERC6492_MAGIC = "6492" * 16


def key_signature(signature: str) -> str:
    """A key's signature as contracts take it, in lower case, from the other ways of writing it: v 0
    or 1 (hardware wallets) or 64 bytes, whose highest bit of s is v (EIP-2098). Anything else is
    returned as it is, and whoever recovers the key refuses it.
    """
    raw = _raw(signature) or b""
    if len(raw) == COMPACT_BYTES:
        s = int.from_bytes(raw[32:], "big")
        v, s = divmod(s, _HIGHEST_BIT)
        return hex_of(raw[:32] + s.to_bytes(32, "big") + bytes([V_OFFSET + v]))
    if len(raw) == SIGNATURE_BYTES and raw[64] in (0, 1):
        return hex_of(raw[:64] + bytes([V_OFFSET + raw[64]]))
    return signature


def kept_signature(signer_address: str, digest: str, signature: str) -> str:
    """What a door keeps of a signature that `signer_address` is to have made of `digest`: the form of
    `key_signature` where the signer's key made it; else as it is, since the bytes of a contract
    wallet are its own.
    """
    form = key_signature(signature)
    recovered = None if form == signature else recovered_address(digest, form)
    is_keys = recovered is not None and recovered.lower() == signer_address.lower()
    return form if is_keys else signature


class WalletReader(Protocol):
    """The reads that a contract wallet needs; core.mandate.chain.reader.ChainReader has them."""

    def is_erc6492_signature(
        self, wallet: str, digest: str, signature: str, at: At = LATEST
    ) -> bool: ...

    def code_at(self, address: str, at: At = LATEST) -> bytes: ...

    def is_erc1271_signature(
        self, wallet: str, digest: str, signature: str, at: At = LATEST
    ) -> bool: ...


@lru_cache(maxsize=4_096)  # a read of a mandate asks it of its terms each time
def recovered_address(digest: str, signature: str) -> str | None:
    """The checksum address whose key signed; None for a signature that OpenZeppelin's ECDSA would
    refuse.

    Form: 65 bytes r, s, v; v 27 or 28; s in the lower half.
    """
    raw = _raw(signature) or b""
    if len(raw) != SIGNATURE_BYTES or raw[64] not in (V_OFFSET, V_OFFSET + 1):
        return None
    r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:64], "big")
    if s > HALF_ORDER:
        return None
    try:
        parsed = Signature(vrs=(raw[64] - V_OFFSET, r, s))
        return parsed.recover_public_key_from_msg_hash(bytes_of(digest)).to_checksum_address()
    except (BadSignature, ValidationError):
        return None


def verify_digest(
    signer_address: str, digest: str, signature: str, reader: WalletReader, at: At = LATEST
) -> bool:
    """True when `signer_address` signed `digest` (0x hex of 32 bytes); `at`: the block whose
    contract wallet is asked.

    Errors: RpcUnreachableError when a contract wallet can't be asked; a signature that a key
    explains needs no chain.
    """
    recovered = recovered_address(digest, signature)
    if recovered is not None and recovered.lower() == signer_address.lower():
        return True
    if _raw(signature) is None or not signature.startswith("0x"):
        return False
    if signature.lower().endswith(ERC6492_MAGIC):
        return reader.is_erc6492_signature(signer_address, digest, signature, at)
    if not reader.code_at(signer_address, at):
        return False
    return reader.is_erc1271_signature(signer_address, digest, signature, at)


def _raw(signature: str) -> bytes | None:
    try:
        return bytes_of(signature)
    except ValueError:
        return None
