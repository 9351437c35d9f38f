"""Deployed code against compiled code, byte for byte, with the immutables that its record gives.

    compiled   60 80 ... 73 00 00 00 00 ... 5b ... a2 64 69 70 66 73 ... 00 33
    deployed   60 80 ... 73 03 6c bd 53 ... 5b ... a2 64 69 70 66 73 ... 00 33
                            '- an immutable       '- metadata

Laws
- An immutable is a zero word in the compiled code, and the compiler says where
  (`immutableReferences`). Those ranges hold what the deployment's record gives; everywhere
  else the bytes are equal. A zero of the source is a byte like any other.
- The metadata at the end is a hash of sources and settings. Where it alone differs, the code that
  runs is the same, but it was not built from these sources as they are (a comment is enough): a
  finding of its own, and a fault.
- Ape, which deploys, and forge, whose build is read here, compile to the same bytes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_utils.address import to_canonical_address
from eth_utils.crypto import keccak

from core.hexes import bytes_of
from core.mandate.venues import uniswap_v3
from core.mandate.venues.registry import Derived, Venue, venues
from scripts._deployments import ARTIFACTS, Deployed, Record, create_address

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


def address_word(address: str) -> bytes:
    return to_canonical_address(address).rjust(WORD_BYTES, b"\0")


def number_word(number: int) -> bytes:
    return number.to_bytes(WORD_BYTES, "big")


def short_string_word(text: str) -> bytes:
    """OpenZeppelin's ShortString: the text from the left, its length in the last byte."""
    return text.encode().ljust(WORD_BYTES - 1, b"\0") + bytes([len(text)])


def domain_immutables(name: str, version: str, chain_id: int, at: str) -> tuple[Immutable, ...]:
    """Of OpenZeppelin's EIP712, in the order in which it declares them; `at`: the contract."""
    hashes = [keccak(text=name), keccak(text=version)]
    kinds = ["bytes32", "bytes32", "bytes32", "uint256", "address"]
    separator = keccak(encode(kinds, [DOMAIN_TYPEHASH, *hashes, chain_id, at]))
    return (
        Immutable("_cachedDomainSeparator", separator),
        Immutable("_cachedChainId", number_word(chain_id)),
        Immutable("_cachedThis", address_word(at)),
        Immutable("_hashedName", hashes[0]),
        Immutable("_hashedVersion", hashes[1]),
        Immutable("_name", short_string_word(name)),
        Immutable("_version", short_string_word(version)),
    )


def immutable_places(artifact: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Where each immutable is in the code of forge's artifact, in the order of declaration: the
    project's files come before those of its dependencies. Errors: ValueError when one is no whole
    word.
    """
    references = artifact["deployedBytecode"].get("immutableReferences") or {}
    if any(place["length"] != WORD_BYTES for places in references.values() for place in places):
        raise ValueError("an immutable is not a word of 32 bytes")
    return tuple(
        tuple(place["start"] for place in references[node]) for node in sorted(references, key=int)
    )


def metadata_start(code: bytes) -> int:
    """Where the metadata begins; the end of the code when there is none."""
    length = int.from_bytes(code[-LENGTH_BYTES:], "big") + LENGTH_BYTES
    return len(code) - length if length <= len(code) else len(code)


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
            "runs the same code, but its metadata comes from other sources or settings (a "
            "comment is enough)"
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


# What each contract has, by its record


def addresses(*named: tuple[str, str]) -> tuple[Immutable, ...]:
    return tuple(Immutable(name, address_word(address)) for name, address in named)


Expected = Callable[[Deployed, dict[str, str], int], tuple[Immutable, ...]]


def _word(known: Mapping[str, Any], value: str | int | Derived) -> bytes:
    found = value(known) if callable(value) else known[value] if isinstance(value, str) else value
    return number_word(found) if isinstance(found, int) else address_word(found)


def adapter_immutables(venue: Venue) -> Expected:
    creation = venue.creation

    def expected(one: Deployed, at: dict[str, str], chain_id: int) -> tuple[Immutable, ...]:
        given = dict(zip(map(str, creation.arguments), one.args, strict=False))
        known: dict[str, Any] = {**given, **at}
        own: dict[str, Any] = {}
        if one.name != venue.adapter:  # chosen by an operator, with arguments of its own
            own = dict(zip(creation.chosen, one.args[1:], strict=False))
            known |= given | own
        named = tuple(
            Immutable(variable, _word(known, variable if variable in own else value))
            for variable, value in creation.immutables
        )
        if creation.domain is None:
            return named
        return (*named, *domain_immutables(creation.domain, "1", chain_id, one.address))

    return expected


# The immutables of each contract in the order of declaration, from the record: (its entry,
# addresses by name, chain id).
EXPECTED: dict[str, Expected] = {
    "MandateVaultFactory": lambda one, at, chain_id: (
        *addresses(
            ("implementation", create_address(one.address, 1)),
            ("usdc", at["usdc"]),
            ("validator", create_address(one.address, 2)),
        ),
        *domain_immutables("Mandate Wallet", "2", chain_id, one.address),
    ),
    "MandateVault": lambda one, at, chain_id: addresses(
        ("USDC", at["usdc"]), ("FACTORY", at["factory"])
    ),
    "Erc6492Validator": lambda one, at, chain_id: (),
    "VaultLens": lambda one, at, chain_id: addresses(
        ("FACTORY", at["factory"]), ("USDC", at["usdc"])
    ),
    "TestVenue": lambda one, at, chain_id: addresses(
        ("USDC", at["usdc"]), ("operator", one.args[1])
    ),
    "TestPool": lambda one, at, chain_id: (
        *addresses(("_asset", at["usdc"])),
        Immutable("_underlyingDecimals", number_word(6)),
    ),
    "TestToken": lambda one, at, chain_id: (),
    "TestMarket": lambda one, at, chain_id: (
        *addresses(("USDC", at["usdc"]), ("TOKEN", at["test_weth"])),
        Immutable("IS_USDC_TOKEN0", number_word(uniswap_v3.is_usdc_token0(at))),
        *addresses(("pool", uniswap_v3.pool_address(at))),
    ),
    **{venue.contract: adapter_immutables(venue) for venue in venues().declared},
    "ReserveToken": lambda one, at, chain_id: addresses(("USDC", at["usdc"])),
    "RecordAnchor": lambda one, at, chain_id: addresses(("FACTORY", at["factory"])),
    "SponsoredBuy": lambda one, at, chain_id: addresses(
        ("RESERVE", at["reserve_token"]), ("USDC", at["usdc"])
    ),
    "MockUSDC": lambda one, at, chain_id: copied(
        domain_immutables("USDC", "2", chain_id, one.address)
    ),
}


def copied(domain: tuple[Immutable, ...]) -> tuple[Immutable, ...]:
    """Of code that was built at one address and copied to another: the address that it cached, and
    what hangs on it, are nobody's.
    """
    return tuple(
        Immutable(one.name, None) if one.name in ("_cachedDomainSeparator", "_cachedThis") else one
        for one in domain
    )


def expected_immutables(one: Deployed, record: Record) -> tuple[Immutable, ...]:
    """Errors: KeyError for a contract that is not ours."""
    at = {known.name: known.address for known in record.contracts}
    return EXPECTED[one.contract](one, at, record.chain_id)


def artifact_of(contract: str) -> dict[str, Any]:
    """Forge's build of a contract. Errors: OSError when it has built nothing."""
    found: dict[str, Any] = json.loads(
        (ARTIFACTS / f"{contract}.sol" / f"{contract}.json").read_text()
    )
    return found


def recorded_code_faults(one: Deployed, record: Record, found: bytes) -> list[str]:
    """What is wrong with the code that was found at its address, as sentences.

    Errors: OSError when forge has built nothing; KeyError for a contract that is not ours.
    """
    artifact = artifact_of(one.contract)
    compiled = bytes_of(artifact["deployedBytecode"]["object"])
    return code_faults(
        compiled, found, immutable_places(artifact), expected_immutables(one, record)
    )
