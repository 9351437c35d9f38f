"""Deployed code against compiled code, byte for byte. Pure: no chain, no files.

    compiled   60 80 ... 73 00 00 00 00 ... 5b ... a2 64 69 70 66 73 ... 00 33
    deployed   60 80 ... 73 03 6c bd 53 ... 5b ... a2 64 69 70 66 73 ... 00 33
                            '- an immutable       '- metadata

Laws
- An immutable is a zero word in the compiled code, and the compiler says where
  (`immutableReferences`). In those ranges stands what the deployment's record gives; everywhere
  else the bytes are equal. A zero of the source is a byte like any other.
- The metadata at the end is a hash of sources and settings. Where it alone differs, the code that
  runs is the same, but it was not built from these sources as they are (a comment is enough): a
  finding of its own, and a fault.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

WORD_BYTES = 32
LENGTH_BYTES = 2  # of the metadata, at its very end
DOMAIN_TYPEHASH = keccak(
    text="EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)


@dataclass(frozen=True, slots=True)
class Immutable:
    """What must stand at each place of one immutable: a word of 32 bytes; None: nobody recorded it,
    so its places must agree.
    """

    name: str
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Domain:
    """The EIP-712 domain that a contract was built with."""

    name: str
    version: str
    chain_id: int
    contract: str

    def separator(self) -> bytes:
        hashes = [keccak(text=self.name), keccak(text=self.version)]
        kinds = ["bytes32", "bytes32", "bytes32", "uint256", "address"]
        return keccak(encode(kinds, [DOMAIN_TYPEHASH, *hashes, self.chain_id, self.contract]))


def address_word(address: str) -> bytes:
    return to_canonical_address(address).rjust(WORD_BYTES, b"\0")


def short_string_word(text: str) -> bytes:
    """OpenZeppelin's ShortString: the text from the left, its length in the last byte."""
    return text.encode().ljust(WORD_BYTES - 1, b"\0") + bytes([len(text)])


def domain_immutables(domain: Domain) -> tuple[Immutable, ...]:
    """Of OpenZeppelin's EIP712, in the order in which it declares them."""
    return (
        Immutable("_cachedDomainSeparator", domain.separator()),
        Immutable("_cachedChainId", domain.chain_id.to_bytes(WORD_BYTES, "big")),
        Immutable("_cachedThis", address_word(domain.contract)),
        Immutable("_hashedName", keccak(text=domain.name)),
        Immutable("_hashedVersion", keccak(text=domain.version)),
        Immutable("_name", short_string_word(domain.name)),
        Immutable("_version", short_string_word(domain.version)),
    )


def immutable_places(artifact: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Where each immutable stands in the code of forge's artifact, in the order of declaration: the
    project's files come before those of its dependencies. Errors: ValueError when one is no whole
    word.
    """
    references = artifact["deployedBytecode"].get("immutableReferences") or {}
    if any(place["length"] != WORD_BYTES for places in references.values() for place in places):
        raise ValueError("an immutable is no word of 32 bytes")
    return tuple(
        tuple(place["start"] for place in references[node]) for node in sorted(references, key=int)
    )


def metadata_start(code: bytes) -> int:
    """Where the metadata begins; the end of the code when there is none."""
    length = int.from_bytes(code[-LENGTH_BYTES:], "big") + LENGTH_BYTES
    return len(code) - length if length <= len(code) else len(code)


def is_same_program(one: bytes, other: bytes) -> bool:
    """Equal but for the metadata."""
    return one[: metadata_start(one)] == other[: metadata_start(other)]


def code_faults(
    compiled: bytes, found: bytes, places: Sequence[Sequence[int]], expected: Sequence[Immutable]
) -> list[str]:
    """What is wrong with deployed code, as sentences; empty when every byte is accounted for."""
    if len(places) != len(expected):
        return [f"the compiler placed {len(places)} immutables, {len(expected)} are known here"]
    if len(compiled) != len(found):
        return [f"{len(found)} bytes, the source compiles to {len(compiled)}"]
    faults = [
        fault
        for starts, one in zip(places, expected, strict=True)
        for fault in _immutable_faults(found, starts, one)
    ]
    inside = {
        at for starts in places for start in starts for at in range(start, start + WORD_BYTES)
    }
    differing = [
        at
        for at, (mine, theirs) in enumerate(zip(compiled, found, strict=True))
        if mine != theirs and at not in inside
    ]
    program = [at for at in differing if at < metadata_start(compiled)]
    if program:
        faults.append(f"differs from the source at byte {program[0]}")
    elif differing:
        faults.append(
            "runs the same code, but its metadata is of other sources or settings (a comment "
            "is enough)"
        )
    return faults


def _immutable_faults(found: bytes, starts: Sequence[int], expected: Immutable) -> list[str]:
    wanted = found[starts[0] : starts[0] + WORD_BYTES] if expected.value is None else expected.value
    words = [(start, found[start : start + WORD_BYTES]) for start in starts]
    return [
        f"immutable {expected.name} at byte {start} is 0x{word.hex()}, not 0x{wanted.hex()}"
        for start, word in words
        if word != wanted
    ]
