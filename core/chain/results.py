"""What each method promises, read strictly: the JSON of a result in, values of the domain out.

Pure: no socket, no clock.

Laws
- A result of another form is an error, never a guess: ValueError, which the nodes turn into that
  node's failure (answers.py).
- Sizes are bounded before anything is computed. A quantity has at most 64 digits; heights, indices,
  gas and times fit the columns that hold them.
- Only what the record needs is demanded: fields that are not read here may be missing or new.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Annotated, Any, TypeVar

import msgspec

from core.chain.blocks import BlockHeader, RawLog, SentCall, TransactionReceipt
from core.hexes import bytes_of, checksum_address

T = TypeVar("T")
Parse = Callable[[bytes], T]  # the JSON of a result -> its value. Errors: ValueError

_Address = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{40}\Z")]
_Hash = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{64}\Z")]
_Bloom = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{512}\Z")]
_Hex = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]*\Z")]
_Wei = Annotated[str, msgspec.Meta(pattern=r"^0x[0-9a-fA-F]{1,64}\Z")]
_Fee = Annotated[str, msgspec.Meta(pattern=r"^0x0{0,32}[0-9a-fA-F]{1,32}\Z")]  # below 2**128
_Number = Annotated[str, msgspec.Meta(pattern=r"^0x0{0,49}[0-9a-fA-F]{1,15}\Z")]  # below 2**60
_Index = Annotated[str, msgspec.Meta(pattern=r"^0x0{0,57}[0-9a-fA-F]{1,7}\Z")]  # below 2**28
MOST_TIME = 2**36
# before the year 4147
_Time = Annotated[str, msgspec.Meta(pattern=r"^0x0{0,55}[0-9a-fA-F]{1,9}\Z")]
_Status = Annotated[str, msgspec.Meta(pattern=r"^0x0{0,63}[01]\Z")]


class _Object(msgspec.Struct, rename="camel", gc=False):
    pass


class _Transaction(_Object):
    """As far as a block that lists whole transactions is read."""

    hash: _Hash


class _Called(_Object):
    """A transaction as far as it is known from its block."""

    hash: _Hash
    sender: _Address = msgspec.field(name="from")
    to: _Address | None
    input: _Hex


class _Sent(_Called, kw_only=True):
    """A transaction that can be run again."""

    gas: _Number


class _WholeBlock(_Object):
    transactions: list[_Called]


class _Block(_Object):
    number: _Number
    hash: _Hash
    parent_hash: _Hash
    timestamp: _Time
    logs_bloom: _Bloom
    transactions: list[_Hash | _Transaction]
    base_fee_per_gas: _Fee | None = None


class _Log(_Object):
    """Read by the ten thousand: its strings are checked together (`_log`)."""

    address: str
    topics: Annotated[list[str], msgspec.Meta(max_length=4)]
    data: str
    block_number: str
    block_hash: str
    transaction_hash: str
    transaction_index: str
    log_index: str


class _Receipt(_Object):
    transaction_hash: _Hash
    transaction_index: _Index
    block_number: _Number
    block_hash: _Hash
    status: _Status
    sender: _Address = msgspec.field(name="from")
    to: _Address | None
    gas_used: _Number
    logs_bloom: _Bloom
    logs: list[_Log]
    effective_gas_price: _Fee | None = None
    l1_fee: _Wei | None = None  # of a rollup, beside its gas


def _reader(kind: Any) -> Parse[Any]:
    return msgspec.json.Decoder(kind).decode


_read_number, _read_wei, _read_fee, _read_hex = map(_reader, (_Number, _Wei, _Fee, _Hex))
_read_block, _read_receipt, _read_receipts = map(
    _reader, (_Block | None, _Receipt | None, list[_Receipt] | None)
)
_read_whole_block = _reader(_WholeBlock | None)
_read_logs, _read_sent = map(_reader, (list[_Log], _Sent | None))


def only(parse: Parse[T | None], is_asked: Callable[[T], bool]) -> Parse[T | None]:
    """As `parse`, of nothing but what was asked for."""

    def parse_asked(content: bytes) -> T | None:
        found = parse(content)
        if found is not None and not is_asked(found):
            raise ValueError("something else than was asked for")
        return found

    return parse_asked


def plain(content: bytes) -> Any:
    """Any JSON, as Python has it."""
    return msgspec.json.decode(content)


def number(content: bytes) -> int:
    """A height, a count, a chain id or gas units; below 2**60."""
    return int(_read_number(content), 16)


def wei(content: bytes) -> int:
    """Below 2**256."""
    return int(_read_wei(content), 16)


def fee(content: bytes) -> int:
    """Wei per gas; below 2**128."""
    return int(_read_fee(content), 16)


def code(content: bytes) -> bytes:
    """Bytes of any length: a contract's code, or what a call returned."""
    return bytes_of(_whole_bytes(_read_hex(content)))


def header(content: bytes) -> BlockHeader | None:
    """A block of eth_getBlockBy*, with transactions by hash or whole; None: not there."""
    found = _read_block(content)
    if found is None:
        return None
    base_fee = found.base_fee_per_gas
    return BlockHeader(
        number=int(found.number, 16),
        hash=found.hash.lower(),
        parent_hash=found.parent_hash.lower(),
        timestamp=int(found.timestamp, 16),
        logs_bloom=int(found.logs_bloom, 16),
        transaction_hashes=tuple(
            (tx if isinstance(tx, str) else tx.hash).lower() for tx in found.transactions
        ),
        base_fee_wei=None if base_fee is None else int(base_fee, 16),
    )


def calls_of_block(content: bytes) -> tuple[SentCall, ...]:
    """The transactions of a block that lists them whole; of no block none."""
    found = _read_whole_block(content)
    return tuple(
        SentCall(
            tx_hash=one.hash.lower(),
            sender=checksum_address(one.sender),
            to=None if one.to is None else checksum_address(one.to),
            data=one.input.lower(),
        )
        for one in (() if found is None else found.transactions)
    )


def receipt(content: bytes) -> TransactionReceipt | None:
    """None: of no block, or pre-confirmed, which some nodes mark by a block hash of zeros."""
    found = _read_receipt(content)
    if found is None or not int(found.block_hash, 16):
        return None
    return _receipt(found)


def receipts(content: bytes) -> tuple[TransactionReceipt, ...] | None:
    found = _read_receipts(content)
    if found is None:
        return None
    return tuple(map(_receipt, found))


def logs(content: bytes) -> list[RawLog]:
    return [_log(found) for found in _read_logs(content)]


def transaction(content: bytes) -> dict[str, Any] | None:
    """As the node gives it, once it has what a replay needs: hash, from, to, input, gas."""
    found = _read_sent(content)
    if found is None:
        return None
    _whole_bytes(found.input)
    raw: dict[str, Any] = plain(content)
    return raw


def _receipt(found: _Receipt) -> TransactionReceipt:
    """What it cost: eth_getTransactionReceipt; l1Fee of the OP stack."""
    gas_used, price = int(found.gas_used, 16), found.effective_gas_price
    layer_1_wei = int(found.l1_fee or "0x0", 16)
    return TransactionReceipt(
        tx_hash=found.transaction_hash.lower(),
        tx_index=int(found.transaction_index, 16),
        block_number=int(found.block_number, 16),
        block_hash=found.block_hash.lower(),
        status=int(found.status, 16),
        sender=checksum_address(found.sender),
        to=None if found.to is None else checksum_address(found.to),
        gas_used=gas_used,
        logs_bloom=int(found.logs_bloom, 16),
        logs=tuple(map(_log, found.logs)),
        cost_wei=None if price is None else gas_used * int(price, 16) + layer_1_wei,
    )


# An address, two hashes, at most four topics and the data.
_LOG = re.compile(r"0x[0-9a-f]{40}(?: 0x[0-9a-f]{64}){2,6} 0x[0-9a-f]*")
_DIGITS = re.compile(r"0x0*[0-9a-fA-F]{1,15}")
MOST_DIGITS = 66
MOST_INDEX = 2**28


def _log(found: _Log) -> RawLog:
    text = " ".join(
        (found.address, found.block_hash, found.transaction_hash, *found.topics, found.data)
    ).lower()
    if _LOG.fullmatch(text) is None:
        raise ValueError("an address, hash, topic or data of another form")
    address, block_hash, tx_hash, *topics, data = text.split(" ")
    tx_index, log_index = _small(found.transaction_index), _small(found.log_index)
    if max(tx_index, log_index) >= MOST_INDEX:
        raise ValueError("an index out of range")
    return RawLog(
        address=checksum_address(address),
        topics=_topics(tuple(topics)),
        data=_whole_bytes(data),
        block_number=_small(found.block_number),
        block_hash=intern(block_hash),
        tx_hash=intern(tx_hash),
        tx_index=tx_index,
        log_index=log_index,
    )


@lru_cache(maxsize=1_024)
def _topics(topics: tuple[str, ...]) -> tuple[str, ...]:
    """The calls of a batch have the same: they are kept once."""
    return tuple(map(intern, topics))


def _small(text: str) -> int:
    """As a _Number."""
    if len(text) > MOST_DIGITS:
        raise ValueError("a number of too many digits")
    return _remembered(text)


@lru_cache(maxsize=16_384)
def _remembered(text: str) -> int:
    """The logs of a range have few heights and indices."""
    if _DIGITS.fullmatch(text) is None:
        raise ValueError("no number")
    return int(text, 16)


def _whole_bytes(text: str) -> str:
    if len(text) % 2:
        raise ValueError("an odd number of hex digits")
    return text
