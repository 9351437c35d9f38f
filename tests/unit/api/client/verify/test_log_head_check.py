"""The vault's own word against a node that proves a state of its own making: every part of its
answer may have any form, and no form of it ends the other checks.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import rlp
from eth_hash.auto import keccak
from trie import HexaryTrie

from api.client.verify import log_head_check
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.log_head_check import (
    FIELDS,
    FORK_FIELDS,
    check_log_head,
    proven_log_head,
)
from api.client.verify.node import Block, Node
from core.chain.blocks import RawLog
from core.chain.nodes import Nodes
from core.hexes import bytes_of, checksum_address, hex_of
from tests.each import each

VAULT = checksum_address("0x" + "ab" * 20)
DIGEST = "0x" + "cd" * 32
WORD = keccak(b"the vault's word")
WAIT_S = 1_700_000_000


class World:
    """A state with one vault whose word is `word`, and the header that stands for it."""

    def __init__(self, word: bytes | None = WORD, *, fields: int = 4, slot: int = 5) -> None:
        storage, state = HexaryTrie({}), HexaryTrie({})
        storage[keccak(b"another slot")] = rlp.encode(b"\x01")
        if word is not None:
            storage[keccak(slot.to_bytes(32))] = rlp.encode(word.lstrip(b"\0"))
        account = [b"\x01", b"", storage.root_hash, keccak(b"code"), b"more"][:fields]
        state[keccak(bytes_of(VAULT))] = rlp.encode(account)
        state[keccak(b"another account")] = rlp.encode(b"else")
        self.header: dict[str, Any] = dict.fromkeys(FIELDS, "0x" + "00" * 32)
        self.header |= {name: "0x7" for name, is_number in FIELDS.items() if is_number}
        self.header |= {
            "logsBloom": "0x" + "00" * 256,
            "stateRoot": hex_of(state.root_hash),
            "timestamp": hex(WAIT_S),
            "number": "0x0",
            "transactions": [],
            "baseFeePerGas": "0x9",
            "withdrawalsRoot": None,
        }
        self.proof: dict[str, Any] = {
            "accountProof": _nodes(state, keccak(bytes_of(VAULT))),
            "storageProof": [{"proof": _nodes(storage, keccak(slot.to_bytes(32)))}],
        }
        self.seal()

    def seal(self) -> None:
        named = {**FIELDS, **{name: FORK_FIELDS[name] for name in self.header.keys() & FORK_FIELDS}}
        fields = [
            rlp.sedes.big_endian_int.serialize(int(self.header[name], 16))
            if is_number
            else bytes_of(self.header[name])
            for name, is_number in named.items()
            if self.header[name] is not None
        ]
        self.hash = hex_of(keccak(rlp.encode(fields)))

    @property
    def block(self) -> Block:
        return Block(0, self.hash, "0x" + "00" * 32, WAIT_S)

    def node(self, report: Report | None = None) -> Node:
        return Node([_Told(self)], VAULT, lambda part, done, of: None, report or Report(), 1_000)

    def word(self) -> bytes:
        return proven_log_head(self.node(), VAULT, self.block)


class _Told(Nodes):
    """A node that says what a World has, whatever it is."""

    def __init__(self, world: World) -> None:
        super().__init__(["http://told"])
        self._world = world

    def call(self, method: str, params: Any = (), parse: Any = None) -> Any:
        found = self._world.proof if method == "eth_getProof" else self._world.header
        return copy.deepcopy(found)


def _nodes(trie: HexaryTrie, key: bytes) -> list[str]:
    return [hex_of(rlp.encode(node)) for node in trie.get_proof(key)]


def test_the_word_that_is_proven__is_the_vaults() -> None:
    assert World().word() == WORD


def test_a_word_that_begins_with_zeros__has_all_its_bytes() -> None:
    assert World(b"\0\0" + WORD[2:]).word() == b"\0\0" + WORD[2:]


def test_a_vault_without_the_word__has_zero() -> None:
    assert World(None).word() == bytes(32)


Lie = Callable[[World], object]


def _field(name: str, value: Any) -> Lie:
    return lambda world: world.header.update({name: value})


def _account_node(value: Any) -> Lie:
    return lambda world: world.proof.update(accountProof=[value, *world.proof["accountProof"]])


LIES: dict[str, Lie] = {
    "a field that is a list": _field("miner", []),
    "a field that is an object": _field("sha3Uncles", {}),
    "a field that is a number": _field("nonce", 7),
    "a field that is missing": lambda world: world.header.pop("mixHash"),
    "a number below zero": _field("gasLimit", "-0x1"),
    "a number in a list": _field("gasUsed", ["0x1"]),
    "a number of no digits": _field("difficulty", "0x"),
    "a number with a sign in it": _field("difficulty", "0x+7"),
    "a number in another script": _field("difficulty", "0x\uff17"),
    "hex with spaces": _field("extraData", "0x 00 00"),
    "a field of 10 MB": _field("extraData", "0x" + "00" * 5_000_000),
    "another hash": _field("extraData", "0x01"),
    "a node of the proof that is a list": _account_node([]),
    "a node of the proof that is an object": _account_node({}),
    "a node of the proof that is null": _account_node(None),
    "a node of the proof that is empty": _account_node(""),
    "a node of the proof that is deep": _account_node("0x" + "c1" * 900 + "c0"),
    "a node of the proof of 10 MB": _account_node("0x" + "00" * 5_000_000),
    "a proof that is a number": lambda world: world.proof.update(accountProof=7),
    "no proof of the account": lambda world: world.proof.pop("accountProof"),
    "no proof of the word": lambda world: world.proof.update(storageProof=[]),
    "a proof of the word that is null": lambda world: world.proof.update(storageProof=[None]),
    "no nodes of the word": lambda world: world.proof.update(storageProof=[{"proof": []}]),
    "a node of the proof that is a number": _account_node(7),
    "a node of the proof that is no RLP": _account_node("0xff"),
    "a state root of another block": _field("stateRoot", "0x" + "12" * 32),
    "nothing for a proof": lambda world: setattr(world, "proof", None),
    "a list for a proof": lambda world: setattr(world, "proof", []),
    "text for a proof": lambda world: setattr(world, "proof", "0x"),
}


@each("lie", LIES.values(), ids=LIES)
def test_a_node_that_garbles_a_part_of_its_proof__proves_nothing_and_ends_nothing(
    lie: Lie,
) -> None:
    """A list for a text, and a number below zero, ended the command's other checks too."""
    world = World()
    lie(world)
    with pytest.raises(UncheckedError, match="does not hold"):
        world.word()


@each("fields", [0, 3, 5])
def test_an_account_of_another_form__proves_nothing(fields: int) -> None:
    with pytest.raises(UncheckedError, match="does not hold"):
        World(fields=fields).word()


def test_an_answer_that_is_no_header__proves_nothing() -> None:
    world = World()
    world.header = None  # type: ignore[assignment]
    with pytest.raises(UncheckedError, match="no header"):
        world.word()


@pytest.mark.parametrize("more", [0, 1])
def test_a_field_and_a_proof__are_read_up_to_their_bounds(more: int) -> None:
    world = World()
    world.header["extraData"] = "0x" + "00" * (log_head_check.MOST_FIELD_BYTES + more)
    world.seal()
    if more:
        with pytest.raises(UncheckedError, match="too long"):
            world.word()
    else:
        assert world.word() == WORD


@pytest.mark.parametrize("more", [0, 1])
def test_a_proof__has_at_most_as_many_nodes_as_a_path(
    monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    world = World()
    longest = max(len(world.proof["accountProof"]), len(world.proof["storageProof"][0]["proof"]))
    monkeypatch.setattr(log_head_check, "MOST_NODES", longest - more)
    if more:
        with pytest.raises(UncheckedError, match="too long"):
            world.word()
    else:
        assert world.word() == WORD


# Against the logs that the node gave


def _log(address: str, block_number: int = 0) -> RawLog:
    topics = ("0x" + "01" * 32, "0x" + "02" * 32)
    return RawLog(address, topics, "0x" + "03" * 32, block_number, DIGEST, DIGEST, 0, 0)


def _word_after_one_log() -> bytes:
    content = keccak(b"\x01" * 32 + b"\x02" * 32 + b"\x03" * 32)
    return keccak(bytes_of(DIGEST) + bytes(32) + WAIT_S.to_bytes(32) + content)


@pytest.mark.parametrize(
    ("word", "names"), [(_word_after_one_log(), []), (WORD, ["log_head.differs"])]
)
def test_the_logs_of_the_vault_alone__make_its_word(word: bytes, names: list[str]) -> None:
    world, report = World(word), Report()
    logs = [_log(VAULT), _log(checksum_address("0x" + "99" * 20))]
    check_log_head(DIGEST, VAULT, logs, {0: world.block}, world.node(), world.block, report)
    assert [one.name for one in report.findings] == names
    assert report.figures["logs_of_vault"] == 1


def test_a_log_in_a_block_that_the_node_does_not_have__proves_nothing_and_ends_nothing() -> None:
    """One of another event than the vault's is looked at by nothing before."""
    world = World()
    with pytest.raises(UncheckedError, match="no block 1 of its own log"):
        check_log_head(
            DIGEST, VAULT, [_log(VAULT, 1)], {0: world.block}, world.node(), world.block, Report()
        )
