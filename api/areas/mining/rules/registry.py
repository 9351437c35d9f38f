"""The fields of a listing that agents can fill in, what each pays, and what its values look like
(docs/mining.md#fields).

    group            field                pays   value
    chain_identity   blockchain           2.0    the id of a chain (api/areas/mining/rules/chains.py)
                     contract_address     5.0    an address on the blockchain that is stated
    project          website_url          1.0    an https URL, as the others below
                     whitepaper_url       1.0
                     source_code_url      1.0
                     audit_url            1.5
    supply           supply_url           1.5
                     unlocks_url          1.5
    venue            listing_notice_url   1.0
                     disclosure_url       1.5    at Korean exchanges alone

Laws
- A value has one canonical text, and two that mean the same are the same text.
- An address is read on a chain that is stated: by the listing itself, or in the same submission.
- Which fields apply follows from the exchange alone, so that the slots of all listings follow from
  how many each exchange has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from api.areas.mining.rules.chains import CHAINS, TokenChain, canonical_address, chain_of
from core.errors import InvalidParameterError, fields_in
from core.listings.rules import EXCHANGES, ListedExchange
from core.urls import canonical_https, require_https

VALUE_CHARACTERS_MOST: Final = 500
BLOCKCHAIN: Final = "blockchain"
CONTRACT_ADDRESS: Final = "contract_address"


class FieldGroup(StrEnum):
    CHAIN_IDENTITY = "chain_identity"
    PROJECT = "project"
    SUPPLY = "supply"
    VENUE = "venue"


class ValueKind(StrEnum):
    CHAIN = "chain"
    ADDRESS = "address"
    URL = "url"


@dataclass(frozen=True, slots=True)
class MinableField:
    """`tenths`: points of an approved value. `country`: of the exchanges that it applies to; None:
    all.
    """

    name: str
    group: FieldGroup
    tenths: int
    kind: ValueKind
    country: str | None = None

    def applies_to(self, exchange: ListedExchange) -> bool:
        return self.country is None or self.country == exchange.country


@dataclass(frozen=True, slots=True)
class SentEntry:
    """A value and its evidence as an agent wrote them."""

    field_name: str
    field_value: str
    evidence_url: str


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """`value`: canonical. `chain`: the id of the chain that an address was read on."""

    field: MinableField
    value: str
    chain: str | None
    evidence_url: str


_FIELDS = (
    MinableField(BLOCKCHAIN, FieldGroup.CHAIN_IDENTITY, 20, ValueKind.CHAIN),
    MinableField(CONTRACT_ADDRESS, FieldGroup.CHAIN_IDENTITY, 50, ValueKind.ADDRESS),
    MinableField("website_url", FieldGroup.PROJECT, 10, ValueKind.URL),
    MinableField("whitepaper_url", FieldGroup.PROJECT, 10, ValueKind.URL),
    MinableField("source_code_url", FieldGroup.PROJECT, 10, ValueKind.URL),
    MinableField("audit_url", FieldGroup.PROJECT, 15, ValueKind.URL),
    MinableField("supply_url", FieldGroup.SUPPLY, 15, ValueKind.URL),
    MinableField("unlocks_url", FieldGroup.SUPPLY, 15, ValueKind.URL),
    MinableField("listing_notice_url", FieldGroup.VENUE, 10, ValueKind.URL),
    MinableField("disclosure_url", FieldGroup.VENUE, 15, ValueKind.URL, country="KR"),
)
FIELDS: Final[Mapping[str, MinableField]] = {one.name: one for one in _FIELDS}


def fields_of(exchange: str) -> tuple[MinableField, ...]:
    """Those that apply to the exchange's listings, in the registry's order."""
    return tuple(one for one in _FIELDS if one.applies_to(EXCHANGES[exchange]))


def slots_of(group: FieldGroup, listings: Mapping[str, int]) -> int:
    """How many values of the group's fields the listings could have. `listings`: of each
    exchange.
    """
    return sum(
        count * sum(one.group is group for one in fields_of(exchange))
        for exchange, count in listings.items()
    )


def checked(
    exchange: str, base: str, facts: Mapping[str, str], entries: Sequence[SentEntry]
) -> tuple[CheckedEntry, ...]:
    """The entries with canonical values. `facts`: what the listing's fields hold already, by name.

    Errors: InvalidParameterError that names the part of the body (entries.0.field_value).
    """
    applicable = {one.name: one for one in fields_of(exchange)}
    _require_one_each(entries)
    found = [_field(applicable, facts, place, one) for place, one in enumerate(entries)]
    stated = _stated_chain(facts, entries)
    return tuple(
        _entry(base, stated, field, place, one)
        for place, (field, one) in enumerate(zip(found, entries, strict=True))
    )


def _require_one_each(entries: Sequence[SentEntry]) -> None:
    names = set[str]()
    for place, one in enumerate(entries):
        if one.field_name in names:
            raise InvalidParameterError(
                f"entries.{place}.field_name",
                "name each field once; send another value of it in a submission of its own",
            )
        names.add(one.field_name)


def _field(
    applicable: Mapping[str, MinableField],
    facts: Mapping[str, str],
    place: int,
    sent: SentEntry,
) -> MinableField:
    with fields_in(f"entries.{place}"):
        field = applicable.get(sent.field_name)
        if field is None:
            raise InvalidParameterError(
                "field_name", f"write a field of this listing: {', '.join(applicable)}"
            )
        if field.name in facts:
            raise InvalidParameterError("field_name", "leave it out; this field is filled already")
        return field


def _stated_chain(facts: Mapping[str, str], entries: Sequence[SentEntry]) -> TokenChain | None:
    if BLOCKCHAIN in facts:
        return CHAINS[facts[BLOCKCHAIN]]
    for place, one in enumerate(entries):
        if one.field_name == BLOCKCHAIN:
            return chain_of(f"entries.{place}.field_value", one.field_value)
    return None


def _entry(
    base: str, stated: TokenChain | None, field: MinableField, place: int, sent: SentEntry
) -> CheckedEntry:
    with fields_in(f"entries.{place}"):
        value, chain = _value(base, stated, field, sent.field_value)
        require_https("evidence_url", sent.evidence_url)
        return CheckedEntry(field, value, chain, sent.evidence_url)


def _value(
    base: str, stated: TokenChain | None, field: MinableField, sent: str
) -> tuple[str, str | None]:
    match field.kind:
        case ValueKind.CHAIN:
            return chain_of("field_value", sent).id, None
        case ValueKind.ADDRESS:
            if stated is None:
                raise InvalidParameterError(
                    "field_value",
                    f"state the chain too: add an entry {BLOCKCHAIN} to this submission, or wait "
                    "until the listing has one",
                )
            return canonical_address("field_value", stated, base, sent), stated.id
        case ValueKind.URL:
            return canonical_https("field_value", sent), None
