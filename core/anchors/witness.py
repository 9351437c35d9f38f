"""What a witness signs of an anchored head, and its line in the witness's file.

EIP-712; the domain is name `Mandate Wallet Witness`, version `1`, the chain and the anchors' contract.
Laws
- A line has one form: the canonical JSON of exactly these keys. The signature is over all others.
- A line names no signer: who signed is what the signature recovers to.
Source: docs/witness.md.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from eth_utils.crypto import keccak

from core.canonical import canonical_json
from core.errors import InvalidParameterError
from core.hexes import bytes_of, hex_of

MOST_LINE_BYTES: Final = 2_048
MOST_MANDATE_CHARACTERS: Final = 64
UINT64: Final = 2**64
_HEX_CHARACTERS: Final = {"root": 66, "row_hash": 66, "anchor": 42}
_DOMAIN = keccak(
    text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
_HEAD = keccak(
    text="WitnessedHead(string mandate,uint64 epoch,bytes32 root,uint64 seq,bytes32 rowHash)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessedHead:
    """A mandate's head under an epoch's root. Hashes and `anchor` are 0x lower-case hex."""

    anchor: str
    chain_id: int
    mandate: str
    epoch: int
    root: str
    seq: int
    row_hash: str

    def digest(self) -> str:
        """What is signed (EIP-712)."""
        domain = keccak(
            _DOMAIN
            + keccak(text="Mandate Wallet Witness")
            + keccak(text="1")
            + self.chain_id.to_bytes(32)
            + bytes_of(self.anchor).rjust(32, b"\0")
        )
        head = keccak(
            _HEAD
            + keccak(text=self.mandate)
            + self.epoch.to_bytes(32)
            + bytes_of(self.root)
            + self.seq.to_bytes(32)
            + bytes_of(self.row_hash)
        )
        return hex_of(keccak(b"\x19\x01" + domain + head))

    def line(self, signature: str) -> bytes:
        return canonical_json(asdict(self) | {"signature": signature}) + b"\n"

    @classmethod
    def of_json(cls, found: object) -> tuple["WitnessedHead", str]:
        """(head, signature) of a line. Errors: InvalidParameterError."""
        keys = set(cls.__slots__) | {"signature"}
        if not isinstance(found, Mapping) or found.keys() != keys:
            raise InvalidParameterError("cosignature", f"an object of {', '.join(sorted(keys))}")
        for key in ("chain_id", "epoch", "seq"):
            if type(found[key]) is not int or not 0 <= found[key] < UINT64:
                raise InvalidParameterError(key, "a whole number below 2**64")
        for key in ("mandate", "signature"):
            if not isinstance(found[key], str) or not found[key].isascii():
                raise InvalidParameterError(key, "ASCII text")
        for key, characters in _HEX_CHARACTERS.items():
            if not _is_hex(found[key], characters):
                raise InvalidParameterError(key, "0x and lower-case hex digits")
        fields: dict[str, Any] = {key: found[key] for key in cls.__slots__}
        if len(fields["mandate"]) > MOST_MANDATE_CHARACTERS:
            raise InvalidParameterError("mandate", f"at most {MOST_MANDATE_CHARACTERS} characters")
        return cls(**fields), found["signature"]


def _is_hex(value: object, characters: int) -> bool:
    if not isinstance(value, str) or len(value) != characters or value[:2] != "0x":
        return False
    return set(value[2:]) <= set("0123456789abcdef")
