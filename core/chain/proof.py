"""A block held against its own hash: what no node can change without the hash changing too. Pure.

    hash = keccak(rlp(header fields))  --> receiptsRoot, logsBloom, timestamp
    receiptsRoot = root of the trie {rlp(index): receipt}  --> status, bloom and every log

Laws
- Field order and optional fields are those of the chains served: Ethereum's header, which the OP
  stack and anvil share; each optional field demands those before it. A header of another form, or a
  receipt of an unknown one, is not proved, and no error: another node may be asked.
- Not covered: hashes of transactions (`transactionsRoot` commits to their bytes, which are not
  read). They name a transaction, and move no money.

Source: Yellow Paper 4.3.1, 4.3.3 and appendices B, D; EIP-1559, EIP-2718, EIP-4788, EIP-4844,
EIP-4895, EIP-7685; OP stack specification, deposits (type 0x7e).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import rlp
from eth_utils.crypto import keccak

from core.chain import results
from core.chain.blocks import BlockHeader, TransactionReceipt

DEPOSIT = 0x7E
MOST_TYPE = 0x7F  # EIP-2718
EMPTY_ROOT = keccak(rlp.encode(b""))

_Bytes = Annotated[str, msgspec.Meta(pattern=r"^0x(?:[0-9a-fA-F]{2})*\Z")]
_Quantity = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{1,64}\Z")]

# (field, whether it is a number); then those that came with forks
_FIELDS = (
    ("parent_hash", False),
    ("sha3_uncles", False),
    ("miner", False),
    ("state_root", False),
    ("transactions_root", False),
    ("receipts_root", False),
    ("logs_bloom", False),
    ("difficulty", True),
    ("number", True),
    ("gas_limit", True),
    ("gas_used", True),
    ("timestamp", True),
    ("extra_data", False),
    ("mix_hash", False),
    ("nonce", False),
)
_LATER_FIELDS = (
    ("base_fee_per_gas", True),
    ("withdrawals_root", False),
    ("blob_gas_used", True),
    ("excess_blob_gas", True),
    ("parent_beacon_block_root", False),
    ("requests_hash", False),
)


class _SealedBlock(msgspec.Struct, rename="camel", gc=False):
    hash: _Bytes
    parent_hash: _Bytes
    sha3_uncles: _Bytes = msgspec.field(name="sha3Uncles")
    miner: _Bytes
    state_root: _Bytes
    transactions_root: _Bytes
    receipts_root: _Bytes
    logs_bloom: _Bytes
    difficulty: _Quantity
    number: _Quantity
    gas_limit: _Quantity
    gas_used: _Quantity
    timestamp: _Quantity
    extra_data: _Bytes
    mix_hash: _Bytes
    nonce: _Bytes
    base_fee_per_gas: _Quantity | None = None
    withdrawals_root: _Bytes | None = None
    blob_gas_used: _Quantity | None = None
    excess_blob_gas: _Quantity | None = None
    parent_beacon_block_root: _Bytes | None = None
    requests_hash: _Bytes | None = None


class _SealedLog(msgspec.Struct, gc=False):
    address: _Bytes
    topics: Annotated[list[_Bytes], msgspec.Meta(max_length=4)]
    data: _Bytes


class _SealedReceipt(msgspec.Struct, rename="camel", gc=False):
    status: _Quantity
    cumulative_gas_used: _Quantity
    logs_bloom: _Bytes
    logs: list[_SealedLog]
    type: _Quantity = "0x0"
    deposit_nonce: _Quantity | None = None
    deposit_receipt_version: _Quantity | None = None


@dataclass(frozen=True, slots=True)
class SealedHeader:
    """`receipts_root` None: the fields do not make up the hash, so none of them is proved."""

    header: BlockHeader
    receipts_root: bytes | None


@dataclass(frozen=True, slots=True)
class SealedReceipts:
    """`root`: of the trie of exactly these; None: one of a form that is not known here."""

    receipts: tuple[TransactionReceipt, ...]
    root: bytes | None


_read_block = msgspec.json.Decoder(_SealedBlock).decode
_read_receipts = msgspec.json.Decoder(list[_SealedReceipt]).decode


def sealed_header(content: bytes) -> SealedHeader | None:
    """A block of eth_getBlockBy*; None: not there. Errors: ValueError, as results.header."""
    header = results.header(content)
    if header is None:
        return None
    try:
        found = _read_block(content)
    except msgspec.ValidationError:
        return SealedHeader(header, None)
    encoded = _encoded_header(found)
    is_proved = encoded is not None and "0x" + keccak(encoded).hex() == header.hash
    return SealedHeader(header, _bytes(found.receipts_root) if is_proved else None)


def sealed_receipts(content: bytes) -> SealedReceipts | None:
    """All receipts of a block, in order; None: not there. Errors: ValueError, as
    results.receipts.
    """
    receipts = results.receipts(content)
    if receipts is None:
        return None
    try:
        encoded = [_encoded_receipt(one) for one in _read_receipts(content)]
    except msgspec.ValidationError:
        return SealedReceipts(receipts, None)
    items = [one for one in encoded if one is not None]
    return SealedReceipts(receipts, ordered_root(items) if len(items) == len(encoded) else None)


def _encoded_header(found: _SealedBlock) -> bytes | None:
    """None: an optional field is there without one before it."""
    fields = [_item(getattr(found, name), is_number=number) for name, number in _FIELDS]
    later = [(getattr(found, name), number) for name, number in _LATER_FIELDS]
    while later and later[-1][0] is None:
        later.pop()
    if any(value is None for value, _ in later):
        return None
    encoded: bytes = rlp.encode(
        fields + [_item(value, is_number=number) for value, number in later]
    )
    return encoded


def _encoded_receipt(found: _SealedReceipt) -> bytes | None:
    """As it stands in the trie; None: of a type beyond EIP-2718's."""
    kind = int(found.type, 16)
    body: list[Any] = [
        _number(found.status),
        _number(found.cumulative_gas_used),
        _bytes(found.logs_bloom),
        [
            [_bytes(log.address), list(map(_bytes, log.topics)), _bytes(log.data)]
            for log in found.logs
        ],
    ]
    # the nonce was left out of the hash before the version came with it
    if kind == DEPOSIT and found.deposit_receipt_version is not None:
        if found.deposit_nonce is None:
            return None
        body += [_number(found.deposit_nonce), _number(found.deposit_receipt_version)]
    if kind > MOST_TYPE:
        return None
    encoded: bytes = rlp.encode(body)
    return bytes([kind]) + encoded if kind else encoded


def _item(text: str, *, is_number: bool) -> bytes:
    return _number(text) if is_number else _bytes(text)


def _number(text: str) -> bytes:
    """Big endian without leading zeros; 0 is empty."""
    value = int(text, 16)
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])


# The trie


_Pairs = Sequence[tuple[bytes, bytes]]  # (nibbles of the key, value), by key


def ordered_root(items: Sequence[bytes]) -> bytes:
    """Root of the Merkle Patricia trie of {rlp(index): item}. No item is empty."""
    if not items:
        return EMPTY_ROOT
    pairs = sorted((_nibbles(rlp.encode(index)), item) for index, item in enumerate(items))
    return keccak(rlp.encode(_node(pairs, 0)))


def _node(pairs: _Pairs, depth: int) -> list[Any]:
    """The node over these, which agree in their first `depth` nibbles. No key is the beginning of
    another one: RLP is prefix-free.
    """
    first, last = pairs[0][0], pairs[-1][0]
    if len(pairs) == 1:
        return [_hex_prefix(first[depth:], is_leaf=True), pairs[0][1]]
    shared = depth
    while first[shared] == last[shared]:
        shared += 1
    if shared > depth:
        return [_hex_prefix(first[depth:shared], is_leaf=False), _ref(_node(pairs, shared))]
    children: list[Any] = [b""] * 17
    for nibble in range(16):
        below = [pair for pair in pairs if pair[0][depth] == nibble]
        if below:
            children[nibble] = _ref(_node(below, depth + 1))
    return children


def _ref(node: list[Any]) -> Any:
    """Of a node within another one: itself where it is short."""
    encoded = rlp.encode(node)
    return node if len(encoded) < 32 else keccak(encoded)


def _nibbles(key: bytes) -> bytes:
    return bytes(nibble for byte in key for nibble in (byte >> 4, byte & 15))


def _hex_prefix(nibbles: bytes, *, is_leaf: bool) -> bytes:
    """Source: Yellow Paper, appendix C."""
    flag = 2 * is_leaf + len(nibbles) % 2
    whole = bytes([flag]) + nibbles if len(nibbles) % 2 else bytes([flag, 0]) + nibbles
    return bytes(16 * high + low for high, low in zip(whole[::2], whole[1::2], strict=True))
