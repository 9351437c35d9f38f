"""What must stand in the code of each contract of a deployment: what this tree compiles to, with the
immutables that its record gives.
"""

import json
from collections.abc import Callable

from core.hexes import bytes_of
from core.mandate.venues.registry import Creation, venues
from scripts._deployed_code import (
    Domain,
    Immutable,
    address_word,
    code_faults,
    domain_immutables,
    immutable_places,
    is_same_program,
)
from scripts._deployments import ARTIFACTS, Deployed, Record, create_address


def addresses(*named: tuple[str, str]) -> tuple[Immutable, ...]:
    return tuple(Immutable(name, address_word(address)) for name, address in named)


Expected = Callable[[Deployed, dict[str, str], int], tuple[Immutable, ...]]


def adapter_immutables(creation: Creation) -> Expected:
    def expected(one: Deployed, at: dict[str, str], chain_id: int) -> tuple[Immutable, ...]:
        known = {**dict(zip(creation.arguments, one.args, strict=False)), **at}
        named = addresses(*((variable, known[name]) for variable, name in creation.immutables))
        if creation.domain is None:
            return named
        return (*named, *domain_immutables(Domain(creation.domain, "1", chain_id, one.address)))

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
        *domain_immutables(Domain("Mandate Wallet", "2", chain_id, one.address)),
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
    **{venue.contract: adapter_immutables(venue.creation) for venue in venues().declared},
    "ReserveToken": lambda one, at, chain_id: addresses(("USDC", at["usdc"])),
    "RecordAnchor": lambda one, at, chain_id: addresses(("FACTORY", at["factory"])),
    "SponsoredBuy": lambda one, at, chain_id: addresses(
        ("RESERVE", at["reserve_token"]), ("USDC", at["usdc"])
    ),
    "MockUSDC": lambda one, at, chain_id: copied(
        domain_immutables(Domain("USDC", "2", chain_id, one.address))
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


class StaleBuildError(ValueError):
    """Forge's build is of other sources than Ape's."""


def recorded_code_faults(one: Deployed, record: Record, compiled: str, found: bytes) -> list[str]:
    """What is wrong with the code that was found at its address, as sentences. `compiled`: 0x hex of
    what Ape, which deploys, compiled; forge alone tells where the immutables stand.

    Errors: StaleBuildError; OSError when forge has built nothing; KeyError for a contract that is
    not ours.
    """
    artifact = json.loads((ARTIFACTS / f"{one.contract}.sol" / f"{one.contract}.json").read_text())
    code = bytes_of(compiled)
    # the two differ in how they name sources, so in the metadata alone
    if not is_same_program(code, bytes_of(artifact["deployedBytecode"]["object"])):
        raise StaleBuildError(
            f"forge's build of {one.contract} is not of these sources; run `make build`"
        )
    return code_faults(code, found, immutable_places(artifact), expected_immutables(one, record))
