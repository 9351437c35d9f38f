"""Whatever a contract logs, a block's facts can be told: nothing that a decoder meets ends a
round.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.blocks.registry import KnownVault
from core.chain.abi import encode_values, events_by_topic
from core.chain.blocks import RawLog
from core.hexes import hex_of
from core.identity.queries import LinkedWallet
from core.mandate.chain import calldata
from core.mandate.chain.decode import EVENT_TYPES, TRANSFER_TOPIC
from core.mandate.rules.events import VaultCreated
from indexer.chain.facts import (
    NAME_CHARACTERS,
    VAULT_CREATED_TOPIC,
    BlockFacts,
    deposit_of,
    facts_of,
    kept_name,
)
from indexer.chain.fetch import FetchedBlock
from indexer.chain.watch import WatchList
from tests.each import each
from tests.personas import AGENT, KEEPER, OWNER
from tests.unit.core.mandate.chain.test_decode import HASH, RULE
from tests.unit.core.mandate.chain.test_typed_data import TERMS
from tests.unit.indexer.chain.test_facts import ADAPTER, FACTORY, HEADER, USDC, VAULT, X402, at

OURS = (FACTORY, VAULT, ADAPTER, X402, USDC)
TOPICS = sorted(events_by_topic())
EDGES = [0, 1, 31, 32, 64, 96, 2**31, 2**63, 2**64 - 1, 2**128, 2**255, 2**256 - 1]
WORD = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**256 - 1)).map(
    lambda value: value.to_bytes(32, "big")
)
BODIES = st.one_of(st.just(b""), st.binary(max_size=200), st.lists(WORD, max_size=40).map(b"".join))
PLAIN_EVENTS = [
    event
    for event in events_by_topic().values()
    if event.name in EVENT_TYPES and event.name != "VaultCreated"
]


def watch() -> WatchList:
    vaults = {VAULT: KnownVault(VAULT, OWNER.address, 1, (AGENT.address,))}
    found = WatchList(FACTORY, USDC, {ADAPTER, X402}, KEEPER.address, vaults, x402_adapter=X402)
    found.wallets = {AGENT.address: LinkedWallet(7, 0)}
    return found


def facts(*logs: RawLog) -> BlockFacts:
    return facts_of(FetchedBlock(HEADER, (), logs), watch(), 84532)


def word(address: str) -> str:
    return hex_of(bytes(12) + bytes.fromhex(address[2:]))


@given(
    st.sampled_from(OURS),
    st.sampled_from([*TOPICS, TRANSFER_TOPIC, HASH]),
    st.lists(WORD, max_size=4),
    BODIES,
)
def test_any_log_of_any_contract__gives_facts_or_is_called_undecodable(
    address: str, topic: str, topics: list[bytes], body: bytes
) -> None:
    found = facts(RawLog(address, (topic, *map(hex_of, topics)), hex_of(body), 5, HASH, HASH, 0, 0))
    assert len(found.found) <= 1
    assert all(deposit_of(log, 84532) for _, log in found.payments)


@given(
    st.sampled_from(OURS),
    st.lists(st.sampled_from([HASH, "0x" + "ff" * 32, *TOPICS[:3], TRANSFER_TOPIC]), max_size=4),
)
def test_data_that_no_chain_has__ends_nothing(address: str, topics: list[str]) -> None:
    for data in ("0x", "0x1", "0xzz", ""):
        assert len(facts(RawLog(address, tuple(topics), data, 5, HASH, HASH, 0, 0)).found) <= 1


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=NAME_CHARACTERS * 2))
def test_whatever_a_vault_is_called__it_is_registered(name: str) -> None:
    rules, terms = [calldata.rule_tuple(RULE)], calldata.terms_tuple(replace(TERMS, public_id=name))
    found = facts(
        at(FACTORY, "VaultCreated", VAULT, HASH, OWNER.address, AGENT.address, name, terms, rules)
    )
    assert [(made.address, made.owner, made.terms_digest) for made in found.created] == [
        (VAULT, OWNER.address, HASH)
    ]
    assert found.created[0].public_id in (None, name)


@given(BODIES)
def test_whatever_the_body_of_vault_created_is__the_vault_is_registered(body: bytes) -> None:
    found = facts(
        RawLog(
            FACTORY,
            (VAULT_CREATED_TOPIC, word(VAULT), HASH, word(OWNER.address)),
            hex_of(body),
            5,
            HASH,
            HASH,
            0,
            0,
        )
    )
    assert [(made.address, made.owner, made.terms_digest) for made in found.created] == [
        (VAULT, OWNER.address, HASH)
    ]


@given(st.text(max_size=200))
def test_a_name_that_is_kept__is_short_and_can_be_stored(name: str) -> None:
    kept = kept_name(name)
    assert kept is None or (
        len(kept) <= NAME_CHARACTERS and "\x00" not in kept and bool(kept.encode())
    )


@given(st.sampled_from(PLAIN_EVENTS), st.lists(st.sampled_from(EDGES), min_size=8, max_size=8))
def test_numbers_at_their_extremes__are_events_as_any_others(
    event: Any, numbers: list[int]
) -> None:
    def value(kind: str, number: int) -> Any:
        if kind.startswith("uint"):
            return min(number, 2 ** int(kind[4:]) - 1)
        return (
            "0x" + "ff" * int(kind.removeprefix("bytes"))
            if kind.startswith("bytes")
            else {"address": VAULT, "bool": True}[kind]
        )

    values = [
        (parameter, value(parameter.type, number))
        for parameter, number in zip(event.inputs, numbers, strict=False)
    ]
    topics = [event.topic, *(hex_of(encode_values([p.type], [v])) for p, v in values if p.indexed)]
    plain = [(p, v) for p, v in values if not p.indexed]
    body = hex_of(encode_values([p.type for p, _ in plain], [v for _, v in plain]))
    found = facts(RawLog(VAULT, tuple(topics), body, 5, HASH, HASH, 0, 0)).found
    assert all(item.event is not None for item in found)


@pytest.mark.parametrize("data", ["0x", "0x" + "ff" * 64])
def test_a_transfer_without_an_amount__is_none(data: str) -> None:
    """Empty data was once read as a number, which ended the process."""
    assert (
        facts(
            RawLog(USDC, (TRANSFER_TOPIC, HASH, word(AGENT.address)), data, 5, HASH, HASH, 0, 0)
        ).payments
        == ()
    )


@each("name", ["a\x00", "\ud800", "a\u202eb", "x" * (NAME_CHARACTERS + 1), ""])
def test_a_name_that_no_mandate_of_ours_has__is_not_kept(name: str) -> None:
    assert kept_name(name) is None


def test_events_of_a_vault_whose_creation_could_not_be_read__are_its_own() -> None:
    broken = RawLog(
        FACTORY,
        (VAULT_CREATED_TOPIC, word(VAULT), HASH, word(OWNER.address)),
        "0x",
        5,
        HASH,
        HASH,
        0,
        0,
    )
    empty = WatchList(FACTORY, USDC, set(), KEEPER.address)
    found = facts_of(
        FetchedBlock(HEADER, (), (broken, at(VAULT, "Deposited", OWNER.address, 5, 5, 5))),
        empty,
        84532,
    )
    assert [type(item.event).__name__ for item in found.found] == ["NoneType", "Deposited"]
    assert found.events_of(VaultCreated) == ()
