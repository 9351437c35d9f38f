"""Blocks held against their own hash (core/chain/proof.py)."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import rlp
from eth_utils.crypto import keccak
from trie import HexaryTrie

from core.chain import proof
from tests.each import each

BLOOM = "0x" + "00" * 256
LOG_PLACE = {
    "blockNumber": "0x1",
    "blockHash": "0x" + "aa" * 32,
    "transactionHash": "0x" + "bb" * 32,
    "transactionIndex": "0x0",
    "logIndex": "0x0",
}
# As OP-stack nodes and their libraries encode them: before and after the version is hashed.
BEFORE_CANYON = "7ef9010801" + "82b741" + "b90100" + "00" * 256 + "c0"
AFTER_CANYON = "7ef9010d01" + "82b741" + "b90100" + "00" * 256 + "c0" + "833d3bbf" + "01"


def receipt(**changes: Any) -> dict[str, Any]:
    return {
        "transactionHash": "0x" + "bb" * 32,
        "transactionIndex": "0x0",
        "blockNumber": "0x1",
        "blockHash": "0x" + "aa" * 32,
        "status": "0x1",
        "from": "0x" + "11" * 20,
        "to": "0x" + "22" * 20,
        "gasUsed": "0xb741",
        "cumulativeGasUsed": "0xb741",
        "logsBloom": BLOOM,
        "logs": [],
        "type": "0x2",
    } | changes


def root_of(*receipts: dict[str, Any]) -> bytes | None:
    found = proof.sealed_receipts(json.dumps(receipts).encode())
    assert found is not None
    return found.root


def library_root(items: list[bytes]) -> bytes:
    tree = HexaryTrie({})
    for index, item in enumerate(items):
        tree[rlp.encode(index)] = item
    return bytes(tree.root_hash)


@each("count", [0, 1, 2, 15, 16, 17, 127, 128, 129, 255, 256, 257, 1_000])
@pytest.mark.slow
def test_ordered_root__is_that_of_the_library(count: int) -> None:
    rng = random.Random(count)
    items = [rng.randbytes(rng.choice((1, 20, 31, 32, 33, 300))) for _ in range(count)]
    assert proof.ordered_root(items) == library_root(items)


def test_a_deposit__after_canyon_is_hashed_with_nonce_and_version() -> None:
    said = receipt(type="0x7e", depositNonce="0x3d3bbf", depositReceiptVersion="0x1")
    assert root_of(said) == proof.ordered_root([bytes.fromhex(AFTER_CANYON)])


def test_a_deposit__before_canyon_is_hashed_without_its_nonce() -> None:
    said = receipt(type="0x7e", depositNonce="0x3d3bbf")
    assert root_of(said) == proof.ordered_root([bytes.fromhex(BEFORE_CANYON)])


def test_a_receipt_of_the_first_form__has_no_type_before_it() -> None:
    plain = rlp.encode([b"\x01", b"\xb7\x41", bytes(256), []])
    assert root_of(receipt(type="0x0")) == proof.ordered_root([plain])
    typeless = receipt()
    del typeless["type"]
    assert root_of(typeless) == proof.ordered_root([plain])


@each(
    ("field", "value"),
    [
        ("address", "0x" + "34" * 20),
        ("topics", ["0x" + "02" * 32]),
        ("data", "0x" + "03" * 32),
    ],
)
def test_a_log_that_is_changed__changes_the_root(field: str, value: Any) -> None:
    log = {"address": "0x" + "33" * 20, "topics": ["0x" + "01" * 32], "data": "0x"} | LOG_PLACE
    assert root_of(receipt(logs=[log])) != root_of(receipt(logs=[log | {field: value}]))


@pytest.mark.parametrize("changes", [{"type": "0x80"}, {"cumulativeGasUsed": None}])
def test_a_receipt_of_an_unknown_form__is_not_proved(changes: dict[str, Any]) -> None:
    assert root_of(receipt(**changes)) is None


def test_no_receipts__are_not_those_of_a_block_that_is_not_there() -> None:
    assert proof.sealed_receipts(b"null") is None
    assert root_of() == keccak(rlp.encode(b""))


# Mainnet's genesis: the oldest form of a header, without any of the later fields.
GENESIS = {
    "number": "0x0",
    "hash": "0xd4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3",
    "parentHash": "0x" + "00" * 32,
    "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
    "miner": "0x" + "00" * 20,
    "stateRoot": "0xd7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544",
    "transactionsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "receiptsRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
    "logsBloom": BLOOM,
    "difficulty": "0x400000000",
    "gasLimit": "0x1388",
    "gasUsed": "0x0",
    "timestamp": "0x0",
    "extraData": "0x11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa",
    "mixHash": "0x" + "00" * 32,
    "nonce": "0x0000000000000042",
    "transactions": [],
}


def sealed(block: dict[str, Any]) -> proof.SealedHeader:
    found = proof.sealed_header(json.dumps(block).encode())
    assert found is not None
    return found


def test_a_header__whose_fields_make_up_its_hash_is_proved() -> None:
    found = sealed(GENESIS)
    assert found.receipts_root == proof.EMPTY_ROOT
    assert found.header.number == 0


@each(
    "changes",
    [
        {"timestamp": "0x1"},
        {"receiptsRoot": "0x" + "01" * 32},
        {"logsBloom": "0x01" + "00" * 255},
        {"baseFeePerGas": "0x0"},
        {"blobGasUsed": "0x0"},  # without the fields before it
        {"miner": None},
    ],
)
def test_a_header_that_was_changed__is_not_proved(changes: dict[str, Any]) -> None:
    assert sealed(GENESIS | changes).receipts_root is None


def test_a_header_that_is_not_there__is_none() -> None:
    assert proof.sealed_header(b"null") is None


# Public blocks as their nodes tell them, without their transactions: a chain after Canyon, Base in
# April 2025 (Ecotone, Holocene) and in August 2026 (Isthmus, Jovian).
OP_STACK = json.loads((Path(__file__).parent / "op_stack_headers.json").read_text())


@pytest.mark.parametrize("name", OP_STACK)
def test_a_public_block_of_the_op_stack__is_proved_by_its_hash(name: str) -> None:
    block = OP_STACK[name]
    found = sealed({**block, "transactions": []})
    assert found.header.hash == block["hash"]
    assert found.receipts_root == bytes.fromhex(block["receiptsRoot"][2:])


@each(
    ("name", "field"),
    [(name, field) for name, block in OP_STACK.items() for field in block if field != "hash"],
)
def test_a_public_block_of_the_op_stack__with_any_field_changed_is_not(
    name: str, field: str
) -> None:
    text = OP_STACK[name][field]
    last = "1" if text[-1] == "0" else "0"
    changed = "0x01" if text == "0x" else text[:-1] + last
    assert sealed({**OP_STACK[name], "transactions": [], field: changed}).receipts_root is None


def test_the_receipt_of_a_block_with_its_deposit_alone__makes_up_the_root_of_its_header() -> None:
    block = OP_STACK["op stack devnet 274"]
    said = receipt(
        type="0x7e",
        cumulativeGasUsed=block["gasUsed"],
        depositNonce="0x111",
        depositReceiptVersion="0x1",
    )
    root = root_of(said)
    assert root is not None
    assert "0x" + root.hex() == block["receiptsRoot"]
