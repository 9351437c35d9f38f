"""The tree of all heads: one root whatever the way to it, and proofs that fit nothing else."""

import random
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.anchors import rules
from core.anchors.rules import EMPTY, START, Children, HeadProof
from core.errors import InvalidParameterError
from tests.each import each

ROW = bytes(range(32))


class Grove:
    """A tree as it is kept: keys, leaves, and nodes by path."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.nodes: dict[bytes, Children] = {}
        self.root = EMPTY

    def set(self, *heads: tuple[str, int]) -> None:
        self.values |= {rules.key_of(name): rules.value_of(seq, ROW) for name, seq in heads}
        keys = sorted(self.values)
        leaves = {key: rules.leaf_of(key, value) for key, value in self.values.items()}
        changed = sorted({rules.key_of(name) for name, _ in heads})
        before = {
            path: self.nodes[path]
            for path in rules.paths_above(keys, changed)
            if path in self.nodes
        }
        self.root, nodes = rules.grown(keys, leaves, changed, before)
        self.nodes |= nodes

    def proof(
        self, name: str, other: tuple[bytes, bytes] | None = None, *, is_held: bool = True
    ) -> HeadProof:
        key = rules.key_of(name)
        paths = {depth: rules.path_of(key, depth) for depth in range(256)}
        nodes = {d: self.nodes[path] for d, path in paths.items() if path in self.nodes}
        return rules.proof_of(key, nodes, other, is_held=is_held)

    def absence(self, name: str) -> HeadProof:
        """With the leaf at which the path ends, whichever it is."""
        for other in (None, *self.values.items()):
            proof = self.proof(name, other, is_held=False)
            if rules.is_absent(self.root, name, proof):
                return proof
        raise AssertionError(name)


def _names(count: int) -> list[str]:
    return [f"m_{number:010}" for number in range(count)]


def _grove(count: int) -> Grove:
    grove = Grove()
    grove.set(*((name, 1) for name in _names(count)))
    return grove


def test_epoch_of__the_last_and_the_first_second_of_an_hour() -> None:
    at = datetime(2026, 2, 2, 10, 0, tzinfo=UTC)
    assert rules.epoch_of(at) == rules.epoch_of(at - timedelta(microseconds=1)) + 1
    assert rules.epoch_end_s(rules.epoch_of(at)) == int(at.timestamp()) + 3_600


def test_newest_settled__five_minutes_after_the_hour() -> None:
    at = datetime(2026, 2, 2, 10, 5, tzinfo=UTC)
    assert rules.newest_settled(at) == rules.epoch_of(at) - 1
    assert rules.newest_settled(at - timedelta(microseconds=1)) == rules.epoch_of(at) - 2


def test_start__is_that_of_the_contract() -> None:
    assert START.hex() == "d8d0b51ecee50b7ba985bdea8ac5755d3d69be8ec758d10f800019ac2be936e9"


def test_tree__without_leaves__is_empty() -> None:
    assert rules.grown([], {}, [], {}) == (EMPTY, {})
    assert rules.is_absent(EMPTY, "m_abcdefghij", HeadProof((), rules.Ending.EMPTY))


def test_tree__of_one_leaf__is_that_leaf() -> None:
    grove = _grove(1)
    key = rules.key_of("m_0000000000")
    assert grove.root == rules.leaf_of(key, rules.value_of(1, ROW))
    assert rules.is_anchored(grove.root, "m_0000000000", 1, ROW, grove.proof("m_0000000000"))


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=20), min_size=1, max_size=6))
def test_tree__grown_step_by_step__is_the_tree_made_at_once(steps: list[list[int]]) -> None:
    grown, heads = Grove(), dict[str, int]()
    for seq, step in enumerate(steps, start=1):
        changed = {f"m_{number}": seq for number in step}
        heads |= changed
        grown.set(*changed.items())
    at_once = Grove()
    at_once.set(*heads.items())
    assert (grown.root, grown.nodes) == (at_once.root, at_once.nodes)


@given(st.integers(1, 80), st.integers(0, 79), st.integers(1, 3))
def test_proof__proves_its_own_head_and_no_other(count: int, which: int, seq: int) -> None:
    grove = _grove(count)
    name = f"m_{which:010}"
    if which >= count:
        assert not rules.is_anchored(grove.root, name, seq, ROW, grove.absence(name))
        return
    proof = grove.proof(name)
    assert rules.is_anchored(grove.root, name, seq, ROW, proof) == (seq == 1)
    assert not rules.is_absent(grove.root, name, proof)


@pytest.mark.parametrize("count", [2, 3, 50])
@pytest.mark.slow
def test_absence__of_a_mandate_that_has_a_leaf__cannot_be_shown(count: int) -> None:
    grove = _grove(count)
    names = _names(count)
    for name in names:
        foreign = [grove.proof(one) for one in names]
        others = [
            HeadProof(proof.siblings, rules.Ending.OTHER, other)
            for proof in foreign
            for other in grove.values.items()
        ]
        empty = [HeadProof(proof.siblings, rules.Ending.EMPTY) for proof in foreign]
        assert not any(rules.is_absent(grove.root, name, one) for one in (*others, *empty))


def test_proof__with_a_node_passed_off_as_a_leaf__fails() -> None:
    grove = _grove(50)
    name = "m_0000000007"
    proof = grove.proof(name)
    assert not rules.is_anchored(grove.root, name, 1, ROW, HeadProof(proof.siblings[:-1]))


@pytest.mark.slow
@given(st.integers(1, 200), st.integers(0, 199))
def test_text__reads_back(count: int, which: int) -> None:
    grove = _grove(count)
    name = f"m_{which:010}"
    proof = grove.proof(name) if which < count else grove.absence(name)
    assert HeadProof.of_text(proof.text()) == proof


@each(
    "text",
    ["", "AA", "AAA!", "é", "AAE=", "AwA=", "AAA=AAA=", "AP//", "AAAA", "A" * 12_292],
)
def test_text__anything_else__is_refused(text: str) -> None:
    with pytest.raises(InvalidParameterError):
        HeadProof.of_text(text)


def test_text__with_one_bit_flipped__proves_nothing() -> None:
    grove = _grove(50)
    name = "m_0000000007"
    raw = b64decode(grove.proof(name).text())
    for at in random.Random(1).sample(range(len(raw) * 8), 200):
        flipped = bytearray(raw)
        flipped[at // 8] ^= 1 << at % 8
        try:
            proof = HeadProof.of_text(b64encode(flipped).decode())
        except InvalidParameterError:
            continue
        assert not rules.is_anchored(grove.root, name, 1, ROW, proof)


@pytest.mark.parametrize("sibling", [b"", b"\x07", bytes(range(1, 32))], ids=len)
def test_a_proof_whose_last_sibling_is_cut_off__is_no_proof(sibling: bytes) -> None:
    """It was read as a shorter sibling, and hashed as one: a second form of a proof."""
    text = b64encode(bytes((0, 1, 1)) + sibling).decode()
    with pytest.raises(InvalidParameterError):
        HeadProof.of_text(text)
