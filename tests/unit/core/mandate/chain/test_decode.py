"""Logs become events by the ABI alone; foreign logs are nothing, broken ones an error."""

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from core.chain.abi import (
    AbiDecodeError,
    call_by_signature,
    decode_revert,
    encode_values,
    events_by_topic,
)
from core.chain.blocks import RawLog
from core.hexes import hex_of
from core.mandate.chain import calldata
from core.mandate.chain.decode import EVENT_TYPES, decode_log
from core.mandate.rules import events
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from tests.each import each
from tests.unit.core.mandate.chain.test_typed_data import OWNER, TERMS

HASH = "0x" + "11" * 32
VAULT = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
RULE = Rule(VAULT, "0xd96a094a", UNPINNED, RuleKind.VALUED)


def log(
    name: str, *values: Any, topics: Sequence[str] | None = None, data: str | None = None
) -> RawLog:
    """A log as the contract would emit it; `values` in the event's order."""
    event = next(event for event in events_by_topic().values() if event.name == name)
    pairs = list(zip(event.inputs, values, strict=True))
    indexed = [hex_of(encode_values([p.type], [v])) for p, v in pairs if p.indexed]
    plain = [(p, v) for p, v in pairs if not p.indexed]
    body = hex_of(encode_values([p.type for p, _ in plain], [v for _, v in plain]))
    head = [event.topic, *indexed] if topics is None else list(topics)
    return RawLog(VAULT, tuple(head), body if data is None else data, 5, HASH, HASH, 0, 0)


def test_every_event_of_the_domain_stands_in_the_abis() -> None:
    declared = {event.name for event in events_by_topic().values()}
    assert {kind.__name__ for kind in get_args(events.ChainEvent)} <= declared
    assert EVENT_TYPES.keys() <= declared


def test_executed__has_its_fields() -> None:
    raw = log("Executed", 3, VAULT, "0xd96a094a", 40, 0, 960)
    assert decode_log(raw) == events.Executed(3, VAULT, "0xd96a094a", 40, 0, 960)


def test_deposited__from_is_named_from_() -> None:
    assert decode_log(log("Deposited", OWNER, 5, 6, 7)) == events.Deposited(
        from_=OWNER, amount=5, deposited=6, balance=7
    )


def test_stopped__keeps_the_reason_as_bytes32() -> None:
    raw = log("Stopped", OWNER, calldata.ascii_word("stop_line"), 949, 0, True)
    assert decode_log(raw) == events.Stopped(OWNER, calldata.ascii_word("stop_line"), 949, 0, True)


def test_vault_created__carries_terms_and_rules() -> None:
    terms, rules = calldata.terms_tuple(TERMS), [calldata.rule_tuple(RULE)]
    raw = log("VaultCreated", VAULT, HASH, OWNER, TERMS.agent, TERMS.public_id, terms, rules)
    assert decode_log(raw) == events.VaultCreated(
        VAULT, HASH, OWNER, TERMS.agent, TERMS.public_id, TERMS, (RULE,)
    )


@pytest.mark.parametrize("topics", [(), (HASH,)])
def test_a_log_without_a_known_topic__is_none(topics: tuple[str, ...]) -> None:
    assert decode_log(log("AgentSet", OWNER, topics=topics)) is None


def test_an_event_that_the_record_has_no_use_for__is_none() -> None:
    assert decode_log(log("PriceSet", 5)) is None


def test_a_log_with_short_data__raises() -> None:
    with pytest.raises(AbiDecodeError):
        decode_log(log("Deposited", OWNER, 5, 6, 7, data="0x00"))


def test_a_log_with_a_topic_too_few__raises() -> None:
    whole = log("Deposited", OWNER, 5, 6, 7)
    with pytest.raises(AbiDecodeError):
        decode_log(log("Deposited", OWNER, 5, 6, 7, topics=whole.topics[:1]))


def test_an_unknown_rule_kind__raises() -> None:
    rules = [(VAULT, "0xd96a094a", UNPINNED, 4)]
    with pytest.raises(AbiDecodeError):
        decode_log(
            log(
                "VaultCreated", VAULT, HASH, OWNER, OWNER, "m_x", calldata.terms_tuple(TERMS), rules
            )
        )


def revert_data(signature: str, *values: Any) -> bytes:
    return bytes.fromhex(call_by_signature(signature, values)[2:])


def test_over_per_tx_cap__is_decoded_with_both_sides() -> None:
    decoded = decode_revert(revert_data("OverPerTxCap(uint256,uint256)", 101, 100))
    assert decoded is not None
    assert (decoded.name, decoded.args) == ("OverPerTxCap", {"requested": 101, "cap": 100})


def test_a_text__is_the_languages_own_error() -> None:
    decoded = decode_revert(revert_data("Error(string)", "no"))
    assert decoded is not None
    assert (decoded.name, decoded.args) == ("Error", {"message": "no"})


@each("data", [b"", b"\x12\x34", bytes(4), revert_data("OverPerTxCap(uint256,uint256)", 1, 2)[:20]])
def test_empty_foreign_or_cut_revert_data__is_not_known(data: bytes) -> None:
    assert decode_revert(data) is None
