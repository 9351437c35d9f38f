"""Whatever a node answers, a read is right or an RpcError, and the next node is asked within the
same call.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chain import provider, results
from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcRefusedError, RpcUnreachableError
from core.chain.nodes import Nodes
from core.chain.provider import MOST_ANSWER_BYTES
from core.hexes import bytes_of
from core.mandate.chain.reader import VaultReader
from tests.each import each
from tests.node_transport import in_threads

BLOCK, PARENT, TX, TOPIC = ("0x" + digit * 64 for digit in "abcd")
ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
BLOOM = "0x" + "00" * 256
LOG = {
    "address": ADDRESS,
    "topics": [TOPIC],
    "data": "0x01",
    "blockNumber": "0x5",
    "blockHash": BLOCK,
    "transactionHash": TX,
    "transactionIndex": "0x0",
    "logIndex": "0x0",
    "removed": False,
}
RECEIPT = {
    "transactionHash": TX,
    "transactionIndex": "0x0",
    "blockNumber": "0x5",
    "blockHash": BLOCK,
    "status": "0x1",
    "from": ADDRESS,
    "to": None,
    "gasUsed": "0x5208",
    "logsBloom": BLOOM,
    "logs": [LOG],
}
HEADER = {
    "number": "0x5",
    "hash": BLOCK,
    "parentHash": PARENT,
    "timestamp": "0x6b49d200",
    "logsBloom": BLOOM,
    "transactions": [TX],
    "baseFeePerGas": "0x7",
}
SENT = {"hash": TX, "from": ADDRESS, "to": ADDRESS, "input": "0xc0ffee", "gas": "0x5208"}
TRUE = {
    "eth_chainId": "0x14a34",
    "eth_blockNumber": "0x5",
    "eth_getBlockByNumber": HEADER,
    "eth_getBlockByHash": HEADER,
    "eth_getBlockReceipts": [RECEIPT],
    "eth_getTransactionReceipt": RECEIPT,
    "eth_getTransactionByHash": SENT,
    "eth_getLogs": [LOG],
    "eth_getTransactionCount": "0x7",
    "eth_getBalance": "0xde0b6b3a7640000",
    "eth_getCode": "0xef0100",
    "eth_estimateGas": "0x5208",
    "eth_maxPriorityFeePerGas": "0x3b9aca00",
    "eth_call": "0x" + "00" * 31 + "01",
}
Read = Callable[[VaultReader], Any]
READS: dict[str, Read] = {
    "chain id": lambda reader: reader.chain_id(),
    "height": lambda reader: reader.block_number(),
    "newest header": lambda reader: reader.header(),
    "header by height": lambda reader: reader.header(5),
    "header by hash": lambda reader: reader.header(BLOCK),
    "headers": lambda reader: reader.headers([5]),
    "receipts": lambda reader: reader.receipts(BLOCK),
    "receipt": lambda reader: reader.receipt(TX),
    "transaction": lambda reader: reader.transaction(TX),
    "logs of a range": lambda reader: reader.range_logs(5, 5, [{"address": ADDRESS}]),
    "nonce": lambda reader: reader.transaction_count(ADDRESS),
    "balance": lambda reader: reader.balance_wei(ADDRESS),
    "code": lambda reader: reader.code_at(ADDRESS),
    "estimate": lambda reader: reader.estimate_gas(ADDRESS, ADDRESS, "0x"),
    "fee": lambda reader: reader.priority_fee_wei(),
    "call": lambda reader: reader.call(ADDRESS, "0x"),
    "status of a vault": lambda reader: reader.status(ADDRESS),
    "USDC of an account": lambda reader: reader.usdc_balance(ADDRESS),
    "used authorizations": lambda reader: reader.used_authorizations(ADDRESS, [TOPIC]),
    "readings": lambda reader: reader.adapter_readings([ADDRESS], ADDRESS),
}


def answering(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A node that answers truly, but for what `change` makes of each result."""

    def one(body: Any) -> Any:
        return {
            "jsonrpc": "2.0",
            "id": body["id"],
            "result": change(deepcopy(TRUE[body["method"]])),
        }

    return lambda body: [one(item) for item in body] if isinstance(body, list) else one(body)


honest = answering(lambda result: result)


def reader_of(*nodes: Callable[[Any], Any]) -> VaultReader:
    """Of nodes that answer so; one that answers bytes says them as they are."""

    def handle(request: httpx.Request) -> httpx.Response:
        said = nodes[int(request.url.host[1:])](json.loads(request.content))
        return (
            httpx.Response(200, content=said)
            if isinstance(said, bytes)
            else httpx.Response(200, json=said)
        )

    rpc = Nodes(
        [f"http://n{index}" for index in range(len(nodes))],
        transport=in_threads(httpx.MockTransport(handle)),
    )
    return VaultReader(rpc, {"usdc": ADDRESS, "factory": ADDRESS})


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    value[path[0]] = changed(value[path[0]], path[1:], new)
    return value


LONG = "0x" + "9" * 100_000
HOSTILE = [
    None,
    True,
    5,
    -1,
    1.5,
    10**30,
    "",
    "0x",
    "0xg0",
    "0x1\n",
    "-0x1",
    "0x-1",
    "0x" + "f" * 65,
    LONG,
    "0xabc",
    "0x" + "a" * 63,
    "0x" + "a" * 39,
    "\x00",
    "latest",
    [],
    {},
    [None],
    [[]],
    {"hash": None},
    "REMOVED",
]
MUTATIONS = [
    (name, path, new)
    for name, result in {
        "header": HEADER,
        "receipts": [RECEIPT],
        "receipt": RECEIPT,
        "transaction": SENT,
        "logs": [LOG],
        "word": "0x5",
    }.items()
    for path in paths(result)
    for new in HOSTILE
]


@each("read", READS)
def test_an_honest_node__is_read(read: str) -> None:
    READS[read](reader_of(honest))


# Null is a promise of these: the node does not have it. A field that nobody reads may be anything.
NUMBERS = {
    "timestamp",
    "baseFeePerGas",
    "transactionIndex",
    "logIndex",
    "gasUsed",
    "gas",
    "blockNumber",
}
LAX = {"removed", "baseFeePerGas", "to"}
READ_OF = {
    "header": "header by height",
    "receipts": "receipts",
    "receipt": "receipt",
    "transaction": "transaction",
    "logs": "logs of a range",
    "word": "height",
}


@each(
    "field", [f"{name}:{'.'.join(map(str, path))}" for name, path, new in MUTATIONS if new is True]
)
@pytest.mark.slow
def test_a_field_that_is_not_what_the_method_promises__is_that_nodes_failure_and_the_next_is_asked(
    field: str,
) -> None:
    for name, path, new in MUTATIONS:
        if f"{name}:{'.'.join(map(str, path))}" != field or (path and path[-1] == "removed"):
            continue

        def lie(result: Any, path: tuple[Any, ...] = path, new: Any = new) -> Any:
            return changed(result, path, new) if new != "REMOVED" else _without(result, path)

        read = READS[READ_OF[name]]
        try:
            found = read(reader_of(answering(lambda result: _if_fits(result, lie)), honest))
        except RpcUnreachableError as error:  # pragma: no cover
            raise AssertionError(f"{field} = {new!r}") from error
        told = read(reader_of(honest))
        assert found == told or _is_allowed(name, path, new), f"{field} = {new!r}: {found}"


def _if_fits(result: Any, lie: Callable[[Any], Any]) -> Any:
    """A batch asks for things of other forms as well; these stay true."""
    try:
        return lie(result)
    except (KeyError, IndexError, TypeError):
        return result


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return None
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return value


def _is_allowed(name: str, path: tuple[Any, ...], new: Any) -> bool:
    """True statements of another chain, that only the caller can hold against something."""
    if not path:
        # not there, or empty
        return new == "0xabc" if name == "word" else new in (None, "REMOVED", [])
    is_empty_list = new in ([], "REMOVED") and (
        path[-1] in ("logs", "transactions", "topics") or isinstance(path[-1], int)
    )
    is_bytes = path[-1] in ("data", "input") and new in ("0x", LONG)
    is_number = new == "0xabc" and path[-1] in NUMBERS
    return is_empty_list or is_bytes or is_number or (path[-1] in LAX and new in (None, "REMOVED"))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*HEADER, *RECEIPT, *LOG]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(
    read=st.sampled_from(sorted(READS)), answer=JSON | st.binary(max_size=64), whole=st.booleans()
)
def test_whatever_a_node_answers__a_read_ends_with_a_value_or_a_typed_error(
    read: str, answer: Any, whole: bool
) -> None:
    node = (
        (lambda body: answer)
        if whole or isinstance(answer, bytes)
        else answering(lambda result: answer)
    )
    begun = time.monotonic()
    with suppress(RpcUnreachableError, RpcRefusedError, AbiDecodeError):
        READS[read](reader_of(node))
    assert time.monotonic() - begun < 5


@given(read=st.sampled_from(sorted(READS)), place=st.integers(0, 199), new=JSON)
def test_one_changed_value__a_read_ends_with_a_value_or_a_typed_error(
    read: str, place: int, new: Any
) -> None:
    def lie(result: Any) -> Any:
        found = list(paths(result))
        return changed(result, found[place % len(found)], new)

    with suppress(RpcUnreachableError, RpcRefusedError, AbiDecodeError):
        READS[read](reader_of(answering(lie)))


@each(
    "content",
    [
        b"[" * 300_000,
        b'{"result":' * 100_000,
        b'{"id":1,"result":' + b"[" * 300_000,
        b'{"id":1,"error":' + b"[" * 300_000,
        b"\xff",
        b"",
    ],
    ids=[
        "nested lists",
        "nested objects",
        "a nested result",
        "a nested error",
        "no text",
        "nothing",
    ],
)
def test_an_answer_that_is_no_json_of_ours__is_that_nodes_failure(content: bytes) -> None:
    reader = reader_of(lambda body: content, honest)
    assert reader.block_number() == 5
    assert reader.rpc.stats()[0].failures == {"garbled": 1}


def test_an_error_with_a_bool_for_a_code__is_told_without_it() -> None:
    with pytest.raises(RpcRefusedError, match=r"no \(code 0\)"):
        reader_of(
            lambda body: {"id": body["id"], "error": {"code": True, "message": "no"}}
        ).block_number()


def test_a_batch_with_one_id_twice__goes_to_the_next_node() -> None:
    def doubled(body: Any) -> Any:
        return [*honest(body), {"id": body[0]["id"], "result": "0x"}]

    reader = reader_of(doubled, honest)
    assert [header.number for header in reader.headers([5, 5]) if header] == [5, 5]
    assert reader.rpc.stats()[0].failures == {"garbled": 1}


@each(
    "read",
    ["header by height", "header by hash", "headers", "receipt", "transaction", "logs of a range"],
)
def test_an_answer_to_another_question__goes_to_the_next_node(read: str) -> None:
    def other(result: Any) -> Any:
        one = result[0] if isinstance(result, list) else result
        one |= {
            key: "0x6" if value == "0x5" else value.replace("a", "e").replace("c", "e")
            for key, value in one.items()
            if key in KEYS
        }
        return result

    reader = reader_of(answering(other), honest)
    assert READS[read](reader) == READS[read](reader_of(honest))
    assert reader.rpc.stats()[0].failures == {"garbled": 1}


KEYS = {"number", "hash", "transactionHash", "blockNumber"}


def test_one_garbled_answer_of_a_settled_batch__stands_alone_when_no_node_does_better() -> None:
    def one_bad(body: Any) -> Any:
        return [
            {"id": item["id"], "result": 5 if index == 1 else "0x01"}
            for index, item in enumerate(body)
        ]

    requests = [("eth_call", [{}, "latest"])] * 3
    first, second, third = reader_of(one_bad, one_bad).rpc.batch_settled(
        requests, [results.code] * 3
    )
    assert (first, third) == (b"\x01", b"\x01")
    assert isinstance(second, RpcRefusedError)
    with pytest.raises(RpcUnreachableError):
        reader_of(one_bad).rpc.batch(requests, [results.code] * 3)


def test_one_garbled_answer_of_a_settled_batch__the_node_that_gives_all_is_taken() -> None:
    def one_bad(body: Any) -> Any:
        return [{"id": item["id"], "result": None} for item in body]

    found = reader_of(one_bad, honest).rpc.batch_settled(
        [("eth_call", [{}])] * 2, [results.code] * 2
    )
    assert found == [bytes_of(TRUE["eth_call"])] * 2


def test_an_answer_without_end__is_cut_off_at_its_most_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provider, "MOST_ANSWER_BYTES", 1_000_000)
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 100_000
            yield b" " * 100_000

    def handle(request: httpx.Request) -> httpx.Response:
        if request.url.host == "endless":
            return httpx.Response(200, content=endless())
        return httpx.Response(200, json=honest(json.loads(request.content)))

    rpc = Nodes(
        ["http://endless", "http://good"], transport=in_threads(httpx.MockTransport(handle))
    )
    assert VaultReader(rpc, {}).block_number() == 5
    assert (read, rpc.stats()[0].failures) == (1_100_000, {"garbled": 1})
    assert MOST_ANSWER_BYTES == 64 * 2**20


def test_a_pre_confirmed_receipt__is_none_yet() -> None:
    """Flashblocks of Base: its block has no hash before it is sealed."""
    early = RECEIPT | {"blockHash": "0x" + "00" * 32}
    assert results.receipt(json.dumps(early).encode()) is None
    assert results.receipt(json.dumps(RECEIPT).encode()) is not None
