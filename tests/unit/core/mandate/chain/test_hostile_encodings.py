"""ABI-encoded bytes of strangers: read, or an AbiDecodeError, at a cost that their number
bounds.
"""

import tracemalloc
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chain.abi import (
    AbiDecodeError,
    decode_revert,
    decode_values,
    events_by_topic,
    function,
    functions,
    types_of,
)
from core.chain.blocks import RawLog
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall, attempted_of, calls_of
from core.mandate.chain.decode import decode_log

WORD = st.sampled_from(
    [0, 1, 31, 32, 33, 64, 96, 128, 160, 2**31, 2**63 - 1, 2**63, 2**64, 2**255, 2**256 - 1]
) | st.integers(0, 2**256 - 1)
BODY = st.lists(WORD, max_size=40).map(
    lambda words: b"".join(word.to_bytes(32, "big") for word in words)
)
DATA = st.tuples(BODY, st.binary(max_size=40)).map(b"".join)
TARGET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
HASH = "0x" + "ab" * 32


def word(value: int) -> str:
    return f"{value:064x}"


def overlapping(calls: int, size: int) -> str:
    """executeBatch with `calls` offsets that all point at one call of `size` bytes of data."""
    head = word(32) + word(calls) + word(calls * 32) * calls
    struct = "00" * 12 + TARGET[2:].lower() + word(1) + word(96) + word(size) + "ff" * size
    return function("MandateVault", "executeBatch").selector + head + struct


@given(
    topic=st.sampled_from(sorted(events_by_topic())),
    topics=st.lists(st.binary(min_size=0, max_size=40), max_size=4),
    data=DATA,
)
def test_a_log_of_ours_with_any_body__is_an_event_or_an_abi_error(
    topic: str, topics: list[bytes], data: bytes
) -> None:
    words = tuple("0x" + one.hex() for one in topics)
    with suppress(AbiDecodeError):
        decode_log(RawLog(TARGET, (topic, *words), "0x" + data.hex(), 1, HASH, HASH, 0, 0))


@given(topic=st.sampled_from(sorted(events_by_topic())), data=st.text(max_size=80))
def test_a_log_whose_data_is_no_hex__is_an_abi_error(topic: str, data: str) -> None:
    inputs = events_by_topic()[topic].inputs
    log = RawLog(
        TARGET, (topic, *[HASH] * sum(one.indexed for one in inputs)), data, 1, HASH, HASH, 0, 0
    )
    with suppress(AbiDecodeError):
        decode_log(log)


@given(name=st.sampled_from(sorted(functions("MandateVault"))), data=DATA)
def test_any_bytes_for_a_functions_values__are_values_or_an_abi_error(
    name: str, data: bytes
) -> None:
    abi = function("MandateVault", name)
    for parameters in (abi.inputs, abi.outputs):
        with suppress(AbiDecodeError):
            decode_values(types_of(parameters), data)
    attempted_of(abi.selector + data.hex())
    decode_revert(data)


@given(st.lists(st.tuples(st.integers(0, 2**256 - 1), st.binary(max_size=100)), max_size=30))
def test_what_an_encoder_writes__is_within_the_bound(calls: list[tuple[int, bytes]]) -> None:
    asked = [VaultCall(TARGET, amount, "0x" + data.hex()) for amount, data in calls]
    assert calls_of(calldata.execute_batch(asked)) == tuple(asked)


def test_calls_that_overlap__cost_no_more_than_their_bytes() -> None:
    data = overlapping(1_000, 32_000)  # 64 KB that unfold into 32 MB
    tracemalloc.start()
    try:
        assert attempted_of(data) is None
        assert tracemalloc.get_traced_memory()[1] < 5 * len(data)
    finally:
        tracemalloc.stop()


def test_a_log_whose_topics_have_other_lengths__is_an_abi_error() -> None:
    """Together they are as long as two words."""
    executed = next(event for event in events_by_topic().values() if event.name == "AgentRemoved")
    log = RawLog(
        TARGET, (executed.topic, "0x" + "00" * 31, "0x" + "00" * 33), "0x", 1, HASH, HASH, 0, 0
    )
    with pytest.raises(AbiDecodeError):
        decode_log(log)
    decode_log(replace(log, topics=(executed.topic, "0x" + "00" * 32, "0x" + "00" * 32)))


def test_words_behind_the_last_value__are_an_abi_error_but_behind_arguments() -> None:
    """Contracts take call data with a note of the sender's wallet at its end."""
    view, deposit = (function("MandateVault", name) for name in ("stopFloor", "deposit"))
    assert view.decode_output(bytes(32)) == (0,)
    with pytest.raises(AbiDecodeError):
        view.decode_output(bytes(64))
    assert deposit.decode_input(deposit.encode(5) + "00" * 32) == (5,)
