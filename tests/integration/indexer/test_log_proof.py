"""The vault's own word for its logs: what a node left out, doubled, changed or made up is noticed, and
put right where any node tells the truth.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from core.audit import queries as audit
from core.blocks import queries as blocks
from core.blocks.queries import FINALIZED, VAULTS_COUNTED
from core.blocks.tables import VaultLogHead
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.fold import effective
from core.quarantine.views.held import held_ledgers
from indexer.chain import log_proof, node_logs
from tests.integration.chain_fixtures import CHAIN_ID, USDC, Ground
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.integration.indexer.test_lies import (
    TOPICS,
    WHOLE,
    Lie,
    LyingNodes,
    alone,
    is_event,
    lived,
    make_final,
    two,
    without,
)
from tests.personas import OWNER, STRANGER
from tests.slow import few

Working = tuple[Issued, str]

__all__ = ["alone", "two"]


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


def prove(follower: Follower, rounds: int = 4) -> list[bool]:
    """Rounds of the proof, and what was held is tried again."""
    changed = [follower.log_proof.round() for _ in range(rounds)]
    follower.retry_held()
    return changed


def held(follower: Follower) -> list[int]:
    with follower.database.read() as session:
        return [one.ledger_id for one in held_ledgers(session)]


def findings(follower: Follower) -> dict[str, int]:
    with follower.database.read() as session:
        return audit.open_counts(session, CHAIN_ID)


def honest(method: str, result: Any) -> Any:
    return result


def changed(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Lie:
    """eth_getLogs says something else of the vault's purchases."""

    def lie(method: str, result: Any) -> Any:
        if method != "eth_getLogs":
            return result
        mine = [one for one in result if one["topics"][0] == TOPICS["Executed"]]
        others = [one for one in result if one["topics"][0] != TOPICS["Executed"]]
        return others + (change(mine) if mine else [])

    return lie


def more(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first purchase spent 25 times as much."""
    first = logs[0]
    data = f"0x{625 * USDC:064x}" + first["data"][66:]
    return [{**first, "data": data}, *logs[1:]]


def doubled(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first purchase stands there a second time, a place later."""
    return [*logs, {**logs[0], "logIndex": hex(int(logs[0]["logIndex"], 16) + 90)}]


def swapped(logs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The two first purchases have each other's content."""
    if len(logs) < 2:
        return logs
    first, second, *others = logs
    content = ("topics", "data")
    return [
        first | {name: second[name] for name in content},
        second | {name: first[name] for name in content},
        *others,
    ]


def test_what_is_whole__is_proven_once__and_then_costs_nothing(
    follower: Follower, alone: LyingNodes
) -> None:
    lived(follower)
    follower.catch_up()
    assert prove(follower) == [False] * 4
    with follower.database.read() as session:
        (head,) = session.scalars(select(VaultLogHead))
        number = head.number
    alone.wire.asked.clear()
    follower.deployed.anvil.mine(3)
    follower.catch_up()
    alone.wire.asked.clear()
    prove(follower, 1)
    assert len(alone.wire.asked) == 1
    with follower.database.read() as session:
        assert [one.number for one in session.scalars(select(VaultLogHead))] == [number]


def test_however_little_is_done_in_a_round__every_vault_has_its_turn(
    follower: Follower, ledgers: list[Working], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_proof, "MOST_VAULTS", 1)
    prove(follower, 3 * len(ledgers))
    with follower.database.read() as session:
        assert len(session.scalars(select(VaultLogHead)).all()) == len(ledgers)


@pytest.mark.parametrize("name", few(["Executed", "Deposited"], plain=1))
def test_logs_that_the_only_node_leaves_out_of_a_range__are_asked_by_address__and_the_ledger_is_put_right(
    follower: Follower, alone: LyingNodes, name: str
) -> None:
    """Its answers by address are whole, as of a node that cuts long answers short."""
    mandate, vault = lived(follower)
    alone.wire.lie = without(is_event(name))
    follower.catch_up()
    assert follower.story(mandate)[:7] != WHOLE
    alone.wire.lie = honest
    assert True in prove(follower)
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert (held(follower), findings(follower)) == ([], {})
    assert prove(follower) == [False] * 4


@pytest.mark.parametrize("change", few([more, doubled, swapped], plain=1))
def test_logs_that_a_node_changes__are_taken_back__and_the_chains_written(
    follower: Follower, alone: LyingNodes, change: Any
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = changed(change)
    follower.catch_up()
    alone.wire.lie = honest
    assert True in prove(follower)
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert is_in_order(follower, mandate)
    assert prove(follower) == [False] * 4


def is_in_order(follower: Follower, mandate: Issued) -> bool:
    rows = effective(follower.rows(mandate))[2:]
    places = [(row.block_number, row.log_index) for row in rows]
    return places == sorted(places)


def test_a_log_that_came_after_the_reading__is_written_again_with_those_that_were_left_out(
    follower: Follower, alone: LyingNodes
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = without(is_event("Executed"))
    follower.catch_up()
    alone.wire.lie = honest
    follower.log_proof._tip = follower.tip.cursor
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert prove(follower, 1) == [True]
    assert follower.story(mandate)[:7] == WHOLE
    assert follower.story(mandate)[-1] == "move"
    assert is_in_order(follower, mandate)
    follower.assert_sound(mandate, vault)


@pytest.mark.parametrize(
    "lie",
    few([without(is_event("Executed")), changed(more), changed(swapped)], plain=1),
    ids=["", "more", "order"],
)
def test_the_only_node_keeps_lying__the_ledger_is_held_with_an_alarm__until_it_tells_the_truth(
    follower: Follower, alone: LyingNodes, lie: Lie
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = lie
    follower.catch_up()
    prove(follower)
    assert held(follower) == [mandate.id]
    assert findings(follower) == {"log": 1}
    before = follower.story(mandate)
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert follower.story(mandate) == before

    alone.wire.lie = honest
    assert True in prove(follower)
    assert follower.story(mandate)[:7] == WHOLE
    assert follower.story(mandate)[-1] == "move"
    assert is_in_order(follower, mandate)
    follower.assert_sound(mandate, vault)
    assert (held(follower), findings(follower)) == ([], {})


@pytest.mark.parametrize(
    "lie",
    few([without(is_event("Executed")), changed(more), changed(doubled), changed(swapped)]),
    ids=["left out", "more", "doubled", "order"],
)
def test_one_of_two_nodes_lies__the_other_is_believed__and_the_first_rests(
    follower: Follower, two: LyingNodes, lie: Lie
) -> None:
    mandate, vault = lived(follower)
    two.wire.lie = lie
    follower.catch_up()
    prove(follower)
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert (held(follower), findings(follower)) == ([], {})
    assert two.failures()["distrust: omits"] >= 1
    assert two.failures(1) == {}


def word_of(follower: Follower, vault: str) -> str:
    position = follower.deployed.reader.lens_position(vault)
    assert position is not None
    return position.log_head


def two_stories(follower: Follower, vault: str) -> Lie:
    """Of a node that leaves the last purchase out, and reads the word that the others make."""
    follower.deployed.buy(vault, 20 * USDC)
    before = word_of(follower, vault)[2:]
    follower.deployed.buy(vault, 30 * USDC)
    after = word_of(follower, vault)[2:]
    make_final(follower)
    nonce = f"0x{1:064x}"  # they begin with 0
    omits = without(lambda log: log["topics"][:2] == [TOPICS["Executed"], nonce])
    return lambda method, result: (
        result.replace(after, before) if method == "eth_call" else omits(method, result)
    )


def test_two_stories_that_are_borne_out_alike__hold_the_ledger(
    follower: Follower, working: Working, two: LyingNodes
) -> None:
    mandate, vault = working
    two.wire.lie = two_stories(follower, vault)
    follower.catch_up()
    prove(follower)
    assert (held(follower), findings(follower)) == ([mandate.id], {"log": 1})


def test_a_word_that_nobodys_logs_make__is_its_nodes_fault_where_another_node_bears_ours_out(
    follower: Follower, working: Working, two: LyingNodes
) -> None:
    mandate, vault = working
    word = word_of(follower, vault)[2:]
    two.wire.lie = lambda method, result: (
        result.replace(word, "ab" * 32) if method == "eth_call" else result
    )
    prove(follower)
    assert (held(follower), findings(follower)) == ([], {})
    assert two.failures()["distrust: contradicts"] >= 1
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert follower.story(mandate)[-1] == "move"


def test_a_false_word_of_a_quiet_vault__costs_no_scan_of_its_history__and_its_node_alone_is_asked(
    follower: Follower, two: LyingNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_proof, "KEPT_FOR", 20)
    monkeypatch.setattr(node_logs, "BLOCKS_A_REQUEST", 10)
    _, vault = lived(follower)
    follower.deployed.anvil.mine(200)
    follower.catch_up()
    prove(follower)
    with follower.database.read() as session:
        (head,) = session.scalars(select(VaultLogHead))
    assert follower.tip.cursor.number - head.number == 20

    word = word_of(follower, vault)[2:]
    two.wire.lie = lambda method, result: (
        result.replace(word, "ab" * 32) if method == "eth_call" else result
    )
    two.wire.asked.clear()
    prove(follower, 1)
    ranges = 2 * 2  # of ten blocks, each asked for with its last block
    assert sorted(two.wire.asked) == ["first"] * (1 + ranges) + ["second"]
    assert held(follower) == []


def test_false_words_of_all_vaults__are_looked_into_a_few_a_round__each_in_its_turn(
    follower: Follower,
    ledgers: list[Working],
    alone: LyingNodes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_proof, "LOOKS_A_ROUND", 1)
    words = [word_of(follower, vault)[2:] for _, vault in ledgers]

    def lie(method: str, result: Any) -> Any:
        for word in words if method == "eth_call" else ():
            result = result.replace(word, "ab" * 32)
        return result

    alone.wire.lie = lie
    for _ in range(2 * len(ledgers)):
        alone.wire.asked.clear()
        prove(follower, 1)
        assert len(alone.wire.asked) == 3  # the lens; one vault's logs and their last block
    assert sorted(held(follower)) == sorted(mandate.id for mandate, _ in ledgers)

    alone.wire.lie = honest
    prove(follower, 1)
    assert (held(follower), findings(follower)) == ([], {})


def test_a_creation_that_the_only_node_leaves_out__is_missed_by_the_factorys_count(
    follower: Follower, alone: LyingNodes
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = without(is_event("VaultCreated"))
    follower.catch_up()
    assert follower.story(mandate) == ["signed"]
    prove(follower)
    assert findings(follower) == {"vault": 1}
    alone.wire.lie = honest
    prove(follower, 8)
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


def test_the_count_of_vaults__goes_on_from_a_final_height__and_misses_none_after_it(
    follower: Follower, alone: LyingNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_proof, "COUNT_EVERY", 5)
    lived(follower)
    follower.catch_up()
    final = follower.tip.cursor
    with follower.database.write() as session:
        blocks.save_mark(session, FINALIZED, CHAIN_ID, final, follower.chain.epoch, now_utc())
    prove(follower)
    with follower.database.read() as session:
        assert blocks.cursor(session, VAULTS_COUNTED) == final
    follower.restart()
    mandate = follower.issue("m_secondaaaa", nonce=2)
    vault = follower.deployed.create_vault(mandate.terms)
    make_final(follower)
    alone.wire.lie = without(is_event("VaultCreated"))
    follower.catch_up()
    alone.wire.lie = honest
    prove(follower, 8)
    assert follower.story(mandate) == ["signed", "vault_created", "deposit"]
    follower.assert_sound(mandate, vault)


def test_a_creation_that_one_of_two_nodes_leaves_out__is_known_before_the_range_is_written(
    follower: Follower, two: LyingNodes
) -> None:
    mandate, vault = lived(follower)
    two.wire.lie = without(is_event("VaultCreated"))
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    prove(follower)
    follower.assert_sound(mandate, vault)


def test_an_agent_who_changed_where_nobody_saw_it__is_known_afterwards(
    follower: Follower, working: Working, alone: LyingNodes
) -> None:
    mandate, vault = working
    follower.deployed.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    follower.deployed.anvil.mine(2)
    make_final(follower)
    alone.wire.lie = without(is_event("AgentSet"))
    follower.catch_up()
    alone.wire.lie = honest
    prove(follower)
    refused = follower.deployed.send(STRANGER, vault, follower.deployed.buy_data(101 * USDC))
    assert refused.status == 0
    follower.catch_up()
    assert follower.story(mandate)[-1] == "refusal"


def test_a_reorg__forgets_what_was_proven_of_its_blocks(
    follower: Follower, working: Working, alone: LyingNodes
) -> None:
    mandate, vault = working
    prove(follower)
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    prove(follower)
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert prove(follower) == [False] * 4
    assert follower.story(mandate)[-1] == "deposit"
    assert (held(follower), findings(follower)) == ([], {})


def test_a_reading_of_another_branch__says_nothing(
    follower: Follower, working: Working, alone: LyingNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = VaultReader.lens_of_each

    def elsewhere(self: VaultReader, *asked: Any) -> Any:
        return {
            node: {
                vault: replace(
                    row,
                    block=replace(row.block, parent_hash="0x" + "ab" * 32),
                    reading=row.reading and replace(row.reading, log_head="0x" + "cd" * 32),
                )
                for vault, row in rows.items()
            }
            for node, rows in plain(self, *asked).items()
        }

    monkeypatch.setattr(VaultReader, "lens_of_each", elsewhere)
    assert prove(follower) == [False] * 4
    assert (held(follower), findings(follower)) == ([], {})
