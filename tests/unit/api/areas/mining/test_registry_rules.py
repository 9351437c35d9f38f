"""The registry: which fields apply, what they pay, and which entries are taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mining.rules.landscape import by_group, percent_text
from api.areas.mining.rules.registry import (
    BLOCKCHAIN,
    CONTRACT_ADDRESS,
    FIELDS,
    CheckedEntry,
    FieldGroup,
    SentEntry,
    checked,
    fields_of,
    slots_of,
)
from core.errors import InvalidParameterError
from core.listings.rules import EXCHANGES
from tests.each import each

LINK = "0x514910771AF9Ca656af840dff83E8264EcF986CA"
EVIDENCE = "https://docs.chain.link/contracts"


def entry(name: str, value: str, evidence: str = EVIDENCE) -> SentEntry:
    return SentEntry(name, value, evidence)


CHAIN, CONTRACT = entry(BLOCKCHAIN, "ethereum"), entry(CONTRACT_ADDRESS, LINK.lower())


def taken(*entries: SentEntry, **facts: str) -> tuple[CheckedEntry, ...]:
    return checked("binance", "LINK", facts, entries)


def refused(*entries: SentEntry, **facts: str) -> tuple[str, str]:
    with pytest.raises(InvalidParameterError) as error:
        taken(*entries, **facts)
    return error.value.field, error.value.rule


def test_points__are_whole_tenths_and_every_group_has_fields() -> None:
    assert all(isinstance(one.tenths, int) and one.tenths > 0 for one in FIELDS.values())
    assert {one.group for one in FIELDS.values()} == set(FieldGroup)
    assert sum(one.tenths for one in fields_of("binance")) == 155
    assert sum(one.tenths for one in fields_of("upbit")) == 170


def test_a_disclosure__is_asked_of_korean_listings_alone() -> None:
    asked = [id_ for id_ in EXCHANGES if FIELDS["disclosure_url"] in fields_of(id_)]
    assert asked == ["upbit", "bithumb", "coinone", "korbit"]
    assert refused(entry("disclosure_url", "https://a.kr/"))[0] == "entries.0.field_name"


def test_an_address__is_read_on_the_chain_of_the_same_submission() -> None:
    for entries in ((CHAIN, CONTRACT), (CONTRACT, CHAIN)):
        found = {one.field.name: (one.value, one.chain) for one in taken(*entries)}
        assert found == {BLOCKCHAIN: ("ethereum", None), CONTRACT_ADDRESS: (LINK, "ethereum")}


def test_an_address__is_read_on_the_chain_that_the_listing_has() -> None:
    assert taken(CONTRACT, blockchain="base")[0].chain == "base"
    assert refused(CONTRACT, blockchain="tron")[1].startswith("on tron, ")


def test_an_address_on_a_chain_that_is_not_stated__is_refused() -> None:
    field, rule = refused(CONTRACT)
    assert field == "entries.0.field_value"
    assert rule.startswith("state the chain too: add an entry blockchain")


def test_a_chain_that_is_none__is_refused_at_its_own_entry() -> None:
    assert refused(CONTRACT, entry(BLOCKCHAIN, "Ethereum")) == (
        "entries.1.field_value",
        "write ethereum, the id of this chain",
    )


def test_a_field_that_is_filled__is_refused() -> None:
    assert refused(CHAIN, blockchain="base") == (
        "entries.0.field_name",
        "leave it out; this field is filled already",
    )


def test_a_field_twice__is_refused_at_the_second() -> None:
    assert refused(CHAIN, entry(BLOCKCHAIN, "base"))[0] == "entries.1.field_name"


@each("name", ["", "Blockchain", "contract", "blockchain\u200b", "__class__"])
def test_an_unknown_field__is_refused_with_all_names(name: str) -> None:
    field, rule = refused(entry(name, "ethereum"))
    assert field == "entries.0.field_name"
    assert rule.startswith("write a field of this listing: blockchain, contract_address")


@each(
    "url",
    [
        "http://example.com/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "https://",
        "https:///path",
        "https://user:secret@example.com/",
        "https://user@example.com/",
        "https://example.com:port/",
        "https://[::1/",
        "https://ex\u00e4mple.com/",
        "https://example.com/\u202e",
        "https://example.com/a b",
        "https://example.com/\\",
        "https://example.com/<script>",
        "//example.com/",
        "",
        "https://example.com/" + "a" * 481,
    ],
)
def test_evidence_that_is_not_https__is_refused(url: str) -> None:
    assert refused(entry(BLOCKCHAIN, "ethereum", url))[0] == "entries.0.evidence_url"
    assert refused(entry("website_url", url))[0] == "entries.0.field_value"


def test_a_link_of_500_characters__is_taken() -> None:
    url = "https://example.com/" + "a" * 480
    assert len(url) == 500
    assert taken(entry("website_url", url, url))[0].value == url


@each(
    ("sent", "kept"),
    [
        ("https://Example.COM", "https://example.com/"),
        ("HTTPS://example.com:443/A?b=C#D", "https://example.com/A?b=C#D"),
        ("https://example.com:8443/", "https://example.com:8443/"),
    ],
)
def test_a_link__is_kept_with_its_host_in_lower_case(sent: str, kept: str) -> None:
    assert taken(entry("website_url", sent))[0].value == kept


@each("value", ["", "\u202eethereum", "ethereum\x00", "\ud800", " ", "a" * 501])
def test_hostile_values__are_refused(value: str) -> None:
    assert refused(entry(BLOCKCHAIN, value))[0] == "entries.0.field_value"


@given(st.dictionaries(st.sampled_from(sorted(EXCHANGES)), st.integers(0, 10_000)))
def test_slots_of_groups__sum_to_the_fields_that_apply(listings: dict[str, int]) -> None:
    total = sum(count * len(fields_of(exchange)) for exchange, count in listings.items())
    assert sum(slots_of(group, listings) for group in FieldGroup) == total


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.integers(0, 10_000)))
def test_figures_of_groups__sum_to_the_whole(of_field: dict[str, int]) -> None:
    assert sum(by_group(of_field).values()) == sum(of_field.values())


@each(
    ("filled", "slots", "text"),
    [
        (0, 1, "0.0"),
        (1, 1, "100.0"),
        (2, 3, "66.6"),
        (999, 1_000, "99.9"),
        (9_999, 10_000, "99.9"),
        (1, 1_001, "0.0"),
        (0, 0, None),
    ],
)
def test_a_percentage__is_rounded_down_and_unknown_of_nothing(
    filled: int, slots: int, text: str | None
) -> None:
    assert percent_text(filled, slots) == text
