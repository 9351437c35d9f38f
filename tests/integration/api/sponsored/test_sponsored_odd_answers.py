"""Nodes whose answers cannot be read hold up nobody's verdict, and are no word about anything."""

from typing import Any

import pytest

from indexer.chain import sponsored_proofs
from tests.integration.api.sponsored.conftest import Lie, LyingWire, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_verdicts import final, follow_by, unused


def no_bool(call: dict[str, Any], result: Any) -> Any:
    """Whether an authorization was used: 2."""
    is_state = call["method"] == "eth_call" and call["params"][0]["data"].startswith("0xe94a0102")
    return "0x" + f"{2:064x}" if is_state else result


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


def no_word(call: dict[str, Any], result: Any) -> Any:
    return "0x" if call["method"] == "eth_call" else result


@pytest.mark.parametrize(("first", "second"), [(None, no_bool), (unused, no_word)])
def test_a_state_that_one_of_two_nodes_says_nothing_of__is_disputed(
    stage: SponsoredStage, agent: dict[str, str], first: Lie | None, second: Lie
) -> None:
    follow_by(stage, LyingWire(first), LyingWire(second))
    quote = stage.bought(agent)
    stage.pass_time(2_000)
    final(stage)
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("disputed", False)


def test_a_block_whose_logs_no_node_gives__is_disputed_and_holds_up_no_other_buy(
    stage: SponsoredStage, agent: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may fill a block with logs until they are too many for one answer."""
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

    def too_much(call: dict[str, Any], result: Any) -> Any:
        is_it = call["method"] == "eth_getLogs" and call["params"][0].get("blockHash") == place
        return "x" * (65 * 2**20) if is_it else result

    for wire in wires:
        wire.lie = too_much
    stage.prove()
    stage.prove()
    stage.tell_time()
    said = stage.state(agent, stuffed)
    assert (said["state"], said["is_final"]) == ("disputed", False)
    assert said["transfers"][0]["tx_hash"] is not None, "the record has its use no more"
    said = stage.state(agent, quote)
    assert (said["state"], said["is_final"]) == ("paid", True)
    for wire in wires:
        wire.lie = None
    stage.pass_time(60)
    final(stage)
    said = stage.state(agent, stuffed)
    assert (said["state"], said["is_final"]) == ("paid", True)


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
