"""What a deployment's record must hold, and who holds its offices by it. Pure: no chain, no files.

Laws
- What a contract is follows from its name here. The record's own label chooses no check; it must
  agree.
- USDC is at one address a chain, and is Circle's anywhere but on the devnet.
- An office is what the constructor was given, unless the record's `offices` says what it became:
  {"factory.keeper": "0x..."}.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from eth_utils.address import is_checksum_address

from core.mandate.venues.registry import venues
from scripts._deployments import CIRCLES, UNISWAPS, Deployed, Record
from scripts._offices import USDC_BY_CHAIN, belongs_on

CONTRACT_OF = {
    "usdc": CIRCLES,
    "factory": "MandateVaultFactory",
    "vault_lens": "VaultLens",
    "test_venue": "TestVenue",
    "test_pool": "TestPool",
    "test_weth": "TestToken",
    "uniswap_v3_factory": UNISWAPS,
    "test_market": "TestMarket",
    **{venue.adapter: venue.contract for venue in venues().declared},
    "reserve_token": "ReserveToken",
    "sponsored_buy": "SponsoredBuy",
    "record_anchor": "RecordAnchor",
    "vault_implementation": "MandateVault",
    "factory_validator": "Erc6492Validator",
}
# An account; accounts, in any order; seconds.
Office = str | list[str] | int


def contract_of(name: str, *, on_devnet: bool) -> str | None:
    """The contract that belongs to a name of the record; None: no contract of a deployment has that
    name.
    """
    if name == "usdc" and on_devnet:
        return "MockUSDC"
    venue = venues().named(name)
    return CONTRACT_OF.get(name) if venue is None else venue.contract


def record_faults(record: Record, *, on_devnet: bool) -> list[str]:
    """What is wrong with a record before any chain is asked, as sentences."""
    return [
        *_missing(record),
        *_labels(record, on_devnet=on_devnet),
        *_addresses(record),
        *_changed_offices(record),
        *venue_faults(record),
    ]


def venue_faults(record: Record) -> Iterator[str]:
    """What is wrong with the adapters that the record asks for."""
    for name, chosen in record.venues.items():
        venue = venues().named(name)
        if venue is None or name == venue.adapter or not name.isidentifier():
            ends = ", ".join(f"_{one.adapter}" for one in venues().declared if one.creation.chosen)
            yield f"venues: {name} ends with none of {ends}"
        elif chosen.keys() - {"codeHash"} != set(venue.creation.chosen):
            wanted = ", ".join(venue.creation.chosen)
            yield f"venues: {name} names {', '.join(chosen) or 'nothing'}; it takes {wanted}"
        else:
            yield from (
                f"venues: {name}.{field} is {value!r}: write an address with its checksum, or a number"
                for field, value in chosen.items()
                if field != "codeHash"
                and not (type(value) is int and value >= 0)
                and not is_checksum_address(value)
            )


def _missing(record: Record) -> Iterator[str]:
    names = record.by_name()
    for name in CONTRACT_OF:
        if name not in names and belongs_on(name, record.chain_id):
            yield f"{name} is missing"
        elif name in names and not belongs_on(name, record.chain_id):
            yield f"{name} is a test contract, on chain {record.chain_id}"


def _labels(record: Record, *, on_devnet: bool) -> Iterator[str]:
    for one in record.contracts:
        wanted = contract_of(one.name, on_devnet=on_devnet)
        if wanted is None:
            yield f"{one.name} is not the name of a contract of a deployment"
        elif one.contract != wanted:
            yield f"{one.name} is a {wanted}, the record calls it a {one.contract}"


def _addresses(record: Record) -> Iterator[str]:
    yield from (
        f"{name} is recorded {count} times"
        for name, count in Counter(one.name for one in record.contracts).items()
        if count > 1
    )
    holders: dict[str, list[str]] = {}
    for one in record.contracts:
        holders.setdefault(one.address.lower(), []).append(one.name)
        if not is_checksum_address(one.address):
            yield f"{one.name} is at {one.address}, which is not an address with its checksum"
    yield from (
        f"{' and '.join(names)} have the same address"
        for names in holders.values()
        if len(set(names)) > 1
    )
    usdc, known = record.by_name().get("usdc"), USDC_BY_CHAIN.get(record.chain_id)
    if usdc is not None and usdc.address != known:
        yield (
            f"usdc is at {usdc.address}, and USDC of chain {record.chain_id} is "
            f"{'not known' if known is None else f'at {known}'}"
        )


def _changed_offices(record: Record) -> Iterator[str]:
    names = record.by_name()
    if "factory" not in names or "reserve_token" not in names:
        return
    try:
        created = offices_at_creation(names["factory"], names["reserve_token"])
    except (TypeError, ValueError):
        yield "factory and reserve_token: args do not match their constructors"
        return
    for name, value in record.offices.items():
        if name not in created:
            yield f"offices: {name} is not one of {', '.join(created)}"
        elif not _is_like(value, created[name]):
            yield (
                f"offices: {name} is {json.dumps(value)}, not of the form of "
                f"{json.dumps(created[name])}"
            )


def _is_like(value: Any, example: Office) -> bool:
    if isinstance(example, list):
        return isinstance(value, list) and all(is_checksum_address(one) for one in value)
    return is_checksum_address(value) if isinstance(example, str) else type(value) is int


def offices_at_creation(factory: Deployed, reserve_token: Deployed) -> dict[str, Office]:
    """From the constructors' arguments."""
    _, delay_s, (admin, pauser, keeper_admin, keeper, guard) = factory.args
    _, token_delay_s, token_admin, token_pauser, treasury = reserve_token.args
    return {
        "factory.admin": admin,
        "factory.admin_delay_s": delay_s,
        "factory.pausers": [pauser],
        "factory.keeper_admins": [keeper_admin],
        "factory.keeper": keeper,
        "factory.guard": guard,
        "reserve_token.admin": token_admin,
        "reserve_token.admin_delay_s": token_delay_s,
        "reserve_token.pausers": [token_pauser],
        "reserve_token.treasury": treasury,
    }


def recorded_offices(record: Record) -> dict[str, Office]:
    """Who holds the offices by the record: at creation, and what it says has changed since."""
    names = record.by_name()
    return {**offices_at_creation(names["factory"], names["reserve_token"]), **record.offices}


def differing_offices(
    recorded: Mapping[str, Office], found: Mapping[str, Office]
) -> dict[str, Office]:
    """What the chain has, of each office that the record has otherwise.

    The order of accounts is nothing.
    """
    return {
        name: found[name]
        for name in recorded
        if _comparable(recorded[name]) != _comparable(found[name])
    }


def _comparable(office: Office) -> object:
    return frozenset(office) if isinstance(office, list) else office


def spelled(office: Office) -> str:
    if isinstance(office, list):
        return ", ".join(sorted(office)) or "nobody"
    return str(office)


def to_record(path: str, record: Record, differing: Mapping[str, Office]) -> str:
    """What to do about offices that are not the record's."""
    offices = json.dumps({"offices": {**record.offices, **differing}}, indent=2)[2:-2]
    return (
        f"Offices changed since {path} was written. If that was meant, write what they are now "
        "beside its `contracts`, and verify again:\n"
        f"{offices}\n"
        "If it was not meant, see `When offices differ` in docs/operations.md."
    )
