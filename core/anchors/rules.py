"""The tree whose root the keeper posts each hour: a sparse Merkle tree of the heads of all records.

    key(mandate)        = keccak256("record-anchor:key:v1:" || public_id)             256 bits, from the most significant
    value(head)         = keccak256(0x02 || seq as 8 bytes || row_hash)
    hash(no leaf)       = 32 zero bytes
    hash(one leaf)      = keccak256(0x00 || key || value)                             at whatever depth it is alone
    hash(more than one) = keccak256(0x01 || hash(next bit 0) || hash(next bit 1))

Laws
- A leaf is as deep as it needs to be alone, and names its whole key: under one root a key has one
  leaf or none, and a proof of either has one form.
- The prefixes (as in RFC 9162, 2.1.1) keep a node from passing for a leaf.
- A proof is as long as the path is deep: some 17 siblings among 100,000 mandates.
- What an hour costs follows from what changed in it (`grown`), not from how many mandates there
  are.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final

from eth_utils.crypto import keccak

from core.errors import InvalidParameterError

EPOCH_S: Final = 3_600
# An epoch's heads are read so long after it ended: by then what began in it is written or undone
# (core.db.engine.Bounds ends what is idle or slow).
SETTLED_S: Final = 300
EMPTY: Final = bytes(32)
START: Final = keccak(text="record-anchor:v1")  # RecordAnchor.START, the root before the first
KEY_BITS: Final = 256
MOST_PROOF_CHARACTERS: Final = 12_288  # of the deepest path that there can be

_KEY, _LEAF, _NODE, _VALUE = b"record-anchor:key:v1:", b"\x00", b"\x01", b"\x02"


def epoch_of(at: datetime) -> int:
    """The epoch of an aware time."""
    return int(at.timestamp()) // EPOCH_S


def epoch_end_s(epoch: int) -> int:
    """The unix second at which it ends; that second is of the next one."""
    return (epoch + 1) * EPOCH_S


def newest_settled(now: datetime) -> int:
    """The newest epoch whose heads can be read."""
    return (int(now.timestamp()) - SETTLED_S) // EPOCH_S - 1


@dataclass(frozen=True, slots=True)
class EpochPost:
    """An epoch as the contract has it, and where it was posted. Hashes are 0x lower-case hex."""

    epoch: int
    root: str
    root_before: str
    block_number: int
    block_hash: str
    tx_hash: str


# Hashes


def key_of(public_id: str) -> bytes:
    return keccak(_KEY + public_id.encode())


def value_of(seq: int, row_hash: bytes) -> bytes:
    return keccak(_VALUE + seq.to_bytes(8) + row_hash)


def leaf_of(key: bytes, value: bytes) -> bytes:
    return keccak(_LEAF + key + value)


def node_of(left: bytes, right: bytes) -> bytes:
    return keccak(_NODE + left + right)


# Proofs


class Ending(IntEnum):
    """Where a key's path ends."""

    LEAF = 0  # at its own leaf
    EMPTY = 1  # at nothing: it has none
    OTHER = 2  # at the leaf of another key: it has none


@dataclass(frozen=True, slots=True)
class HeadProof:
    """`siblings` from the root on. `other`: (key, value) of the other leaf, with Ending.OTHER."""

    siblings: tuple[bytes, ...]
    ending: Ending = Ending.LEAF
    other: tuple[bytes, bytes] | None = None

    def root(self, key: bytes, value: bytes | None) -> bytes | None:
        """The root that it proves `key` to have `value` under, or no leaf (None); None when it
        proves neither.
        """
        if (value is None) == (self.ending is Ending.LEAF):
            return None
        found = EMPTY if value is None else leaf_of(key, value)
        if self.other is not None:
            if self.other[0] == key or _shared_bits(key, self.other[0]) < len(self.siblings):
                return None
            found = leaf_of(*self.other)
        for depth in range(len(self.siblings) - 1, -1, -1):
            sibling = self.siblings[depth]
            found = node_of(sibling, found) if _bit(key, depth) else node_of(found, sibling)
        return found

    def text(self) -> str:
        """Base64 of: ending, depth, a bit a depth (1: it has a sibling that is not empty), those
        siblings, and key and value of the other leaf.
        """
        bits = sum(
            1 << (len(self.siblings) - 1 - depth)
            for depth, one in enumerate(self.siblings)
            if one != EMPTY
        )
        bitmap = bits.to_bytes(-(-len(self.siblings) // 8))
        head = bytes((self.ending, len(self.siblings))) + bitmap
        siblings = b"".join(one for one in self.siblings if one != EMPTY)
        return b64encode(head + siblings + b"".join(self.other or ())).decode()

    @classmethod
    def of_text(cls, text: str) -> "HeadProof":
        """Errors: InvalidParameterError unless it is exactly what `text` writes."""
        try:
            if len(text) > MOST_PROOF_CHARACTERS:
                raise ValueError
            proof = cls._of_bytes(b64decode(text, validate=True))
        except (Base64Error, ValueError, IndexError) as error:
            raise InvalidParameterError("proof", "the base64 text of a proof") from error
        if proof.text() != text:
            raise InvalidParameterError("proof", "written as the tree's proofs are")
        return proof

    @classmethod
    def _of_bytes(cls, raw: bytes) -> "HeadProof":
        ending, depth = Ending(raw[0]), raw[1]
        at = 2 + -(-depth // 8)
        bits, siblings = int.from_bytes(raw[2:at]), list[bytes]()
        for shift in range(depth - 1, -1, -1):
            is_given = bool(bits >> shift & 1)
            siblings.append(raw[at : at + 32] if is_given else EMPTY)
            at += 32 * is_given
        rest = raw[at:]
        is_cut = at > len(raw)  # in the last sibling
        if is_cut or len(rest) != (64 if ending is Ending.OTHER else 0) or bits >> depth:
            raise ValueError
        return cls(tuple(siblings), ending, (rest[:32], rest[32:]) if rest else None)


def is_anchored(root: bytes, public_id: str, seq: int, row_hash: bytes, proof: HeadProof) -> bool:
    """Whether the proof puts this head of this mandate under the root."""
    return proof.root(key_of(public_id), value_of(seq, row_hash)) == root


def is_absent(root: bytes, public_id: str, proof: HeadProof) -> bool:
    """Whether the proof shows that the mandate has no leaf under the root."""
    return proof.root(key_of(public_id), None) == root


def _bit(key: bytes, depth: int) -> int:
    return key[depth >> 3] >> (7 - (depth & 7)) & 1


def _shared_bits(one: bytes, two: bytes) -> int:
    return KEY_BITS - (int.from_bytes(one) ^ int.from_bytes(two)).bit_length()


# The tree, as the children of its nodes by path


Children = tuple[bytes, bytes]


def path_of(key: bytes, depth: int) -> bytes:
    """Names the node at this depth above a key: the depth, and so many bits of the key."""
    size = -(-depth // 8)
    kept = int.from_bytes(key[:size]) >> (8 * size - depth) << (8 * size - depth)
    return bytes((depth,)) + kept.to_bytes(size)


def paths_above(keys: Sequence[bytes], changed: Sequence[bytes]) -> Iterator[bytes]:
    """The nodes above the changed keys, among all (sorted); some more than once."""
    for key in changed:
        at = bisect_left(keys, key)
        beside = [*keys[max(0, at - 1) : at], *keys[at + 1 : at + 2]]
        depth = max((_shared_bits(key, one) + 1 for one in beside), default=0)
        yield from (path_of(key, above) for above in range(depth))


def grown(
    keys: Sequence[bytes],
    leaves: Mapping[bytes, bytes],
    changed: Sequence[bytes],
    before: Mapping[bytes, Children],
) -> tuple[bytes, dict[bytes, Children]]:
    """The root once the changed keys have their new leaves, and the nodes that are other than
    before.

    `keys`: all, sorted, and `changed` of them, sorted; `leaves`: hashes by key. `before`: the nodes
    at `paths_above` of the changed keys as they were; from nothing, none, and all keys changed.
    """
    growth = _Growth(keys, leaves, changed, before)
    return growth.hash_at(0, (0, len(keys)), (0, len(changed)), None), growth.nodes


class _Growth:
    """Ranges (first, end) are of `keys` and of `changed`: those below one node."""

    def __init__(
        self,
        keys: Sequence[bytes],
        leaves: Mapping[bytes, bytes],
        changed: Sequence[bytes],
        before: Mapping[bytes, Children],
    ) -> None:
        self._keys = keys
        self._leaves = leaves
        self._changed = changed
        self._before = before
        self.nodes: dict[bytes, Children] = {}

    def hash_at(
        self, depth: int, own: tuple[int, int], new: tuple[int, int], known: bytes | None
    ) -> bytes:
        """`known`: what it was before."""
        if own[0] == own[1]:
            return EMPTY
        first = self._keys[own[0]]
        if own[1] - own[0] == 1:
            return self._leaves[first]
        if new[0] == new[1]:
            assert known is not None  # two keys that were there before have a node above them
            return known
        path = path_of(first, depth)
        left, right = self._before.get(path, (None, None))
        middle = _first_of_right(first, depth)
        at = bisect_left(self._keys, middle, *own)
        new_at = bisect_left(self._changed, middle, *new)
        children = (
            self.hash_at(depth + 1, (own[0], at), (new[0], new_at), left),
            self.hash_at(depth + 1, (at, own[1]), (new_at, new[1]), right),
        )
        self.nodes[path] = children
        return node_of(*children)


def _first_of_right(key: bytes, depth: int) -> bytes:
    """The lowest key of the right half below the node at this depth above `key`."""
    shift = KEY_BITS - 1 - depth
    return ((int.from_bytes(key) >> shift | 1) << shift).to_bytes(32)


def proof_of(
    key: bytes,
    nodes: Mapping[int, Children],
    other: tuple[bytes, bytes] | None = None,
    *,
    is_held: bool = True,
) -> HeadProof:
    """The proof of a key from the nodes on its path, by depth.

    `is_held`: it has a leaf. `other`: (key, value) of the leaf at which the path ends otherwise, if
    it ends at one.
    """
    siblings = list[bytes]()
    while (children := nodes.get(len(siblings))) is not None:
        siblings.append(children[1 - _bit(key, len(siblings))])
    if is_held:
        return HeadProof(tuple(siblings))
    return HeadProof(tuple(siblings), Ending.EMPTY if other is None else Ending.OTHER, other)
