"""Nodes whose answers cannot be read hold up nobody's verdict, and are no word about anything."""

from typing import Any

import pytest

from indexer.chain import sponsored_proofs
from indexer.chain.sponsored_proofs import UNTOLD_TRIES
from tests.integration.api.sponsored.conftest import LyingWire, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_verdicts import final, follow_by


def no_bool(call: dict[str, Any], result: Any) -> Any:
    """Whether an authorization was used: 2."""
    is_state = call["method"] == "eth_call" and call["params"][0]["data"].startswith("0xe94a0102")
    return "0x" + f"{2:064x}" if is_state else result


def without_a_bloom(call: dict[str, Any], result: Any) -> Any:
    """Receipts whose blooms are not their logs'."""
    if call["method"] != "eth_getBlockReceipts" or not result:
        return result
    return [{**receipt, "logsBloom": "0x" + "00" * 256} for receipt in result]


def test_a_state_that_is_neither_yes_nor_no__is_no_word(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    odd = LyingWire(no_bool)
    follow_by(stage, LyingWire(), LyingWire(), odd)
    quote = stage.bought(agent)
    stage.pass_time(2_000)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("nothing_paid", True)


def test_a_state_that_is_neither_yes_nor_no__is_disputed_where_no_second_node_says_more(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    follow_by(stage, LyingWire(), LyingWire(no_bool))
    quote = stage.bought(agent)
    stage.pass_time(2_000)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)


def test_blocks_that_contradict_themselves__are_no_word_that_nothing_was_used(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """Two nodes that answer so did not agree about anything."""
    one, other = LyingWire(), LyingWire()
    follow_by(stage, one, other)
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.index()
    one.lie = other.lie = without_a_bloom
    stage.chain.anvil.mine(40)
    one.lie = other.lie = None
    stage.index()
    stage.follower.tip.note_finality()
    one.lie = other.lie = without_a_bloom
    stage.prove()
    stage.tell_time()
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)
    assert said["transfers"][0]["tx_hash"] is not None, "the record has its use no more"
    one.lie = other.lie = None
    stage.pass_time(60)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)


def test_a_block_whose_receipts_no_node_gives__holds_up_no_other_buy(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may fill a block with logs until its receipts are too many for one answer."""
    monkeypatch.setattr(sponsored_proofs, "A_ROUND", 2)
    wires = LyingWire(), LyingWire()
    follow_by(stage, *wires)
    stuffed = stage.bought(agent)
    stage.processes[0].run()
    stage.index()
    place = stage.follower.tip.cursor.hash
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.chain.anvil.mine(40)
    stage.index()
    stage.follower.tip.note_finality()

    def not_there(call: dict[str, Any], result: Any) -> Any:
        is_it = call["method"] == "eth_getBlockReceipts" and call["params"] == [place]
        return None if is_it else result

    for wire in wires:
        wire.lie = not_there
    stage.prove()
    stage.prove()
    stage.tell_time()
    assert stage.state(agent, stuffed)["is_final"] is False
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)
    for wire in wires:
        wire.lie = None
    stage.pass_time(60)
    final(stage)
    said = stage.state(agent, stuffed)
    assert (said["state"], said["is_final"]) == ("paid", True)


def asked_in_vain(stage: SponsoredStage, times: int) -> None:
    for _ in range(times):
        stage.prove()
        stage.pass_time(170)


def test_a_block_whose_receipts_no_node_ever_gives__is_disputed_after_some_tries(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """It was asked for every ten minutes, and nobody was told."""
    wires = LyingWire(), LyingWire()
    follow_by(stage, *wires)
    quote = stage.bought(agent)
    stage.processes[0].run()
    stage.chain.anvil.mine(40)
    stage.index()
    stage.follower.tip.note_finality()
    for wire in wires:
        wire.lie = lambda call, result: None if call["method"] == "eth_getBlockReceipts" else result
    asked_in_vain(stage, UNTOLD_TRIES - 1)
    assert stage.state(agent, quote)["state"] == "paid"
    asked_in_vain(stage, 1)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)
    assert stage.follower.tip.chain.metrics.sponsored_disputes._value.get() == 2
    for wire in wires:
        wire.lie = None
    stage.pass_time(700)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)


def test_a_lapse_that_no_node_ever_tells_of__is_disputed_after_some_tries(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    def silent(call: dict[str, Any], result: Any) -> Any:
        return "0x" if call["method"] == "eth_call" else result

    wires = LyingWire(silent), LyingWire(silent)
    follow_by(stage, *wires)
    quote = stage.bought(agent)
    stage.pass_time(2_000)
    stage.chain.anvil.mine(40)
    stage.index()
    stage.follower.tip.note_finality()
    asked_in_vain(stage, UNTOLD_TRIES - 1)
    assert stage.state(agent, quote)["state"] == "nothing_paid"
    asked_in_vain(stage, 1)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)
    for wire in wires:
        wire.lie = None
    stage.pass_time(700)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("nothing_paid", True)


def test_what_no_node_tells__is_not_asked_for_each_second(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    """A lapse whose state nobody gave was asked for in each round, and the tip waited for it."""
    asked = list[str]()

    def silent(call: dict[str, Any], result: Any) -> Any:
        is_state = call["method"] == "eth_call" and call["params"][0]["data"].startswith(
            "0xe94a0102"
        )
        if is_state:
            asked.append(call["params"][0]["data"])
        return "0x" if is_state else result

    follow_by(stage, LyingWire(silent))
    stage.bought(agent)
    stage.pass_time(2_000)
    final(stage)
    assert len(asked) == 2
    for _ in range(5):
        stage.prove()
    assert len(asked) == 2
