"""A bloom is computed as every node computes it."""

from eth_bloom import BloomFilter
from eth_utils.conversions import to_bytes
from hypothesis import given
from hypothesis import strategies as st

from core.chain.blocks import RawLog
from core.chain.bloom import bits_of, bloom_of

HASH = "0x" + "ab" * 32
ADDRESSES, TOPICS = (
    st.binary(min_size=size, max_size=size).map(lambda data: "0x" + data.hex()) for size in (20, 32)
)
LOGS = st.builds(
    lambda address, topics: RawLog(address, tuple(topics), "0x", 1, HASH, HASH, 0, 0),
    ADDRESSES,
    st.lists(TOPICS, max_size=4),
)


@given(st.lists(LOGS, max_size=20))
def test_the_bloom_of_logs__is_the_libraries(logs: list[RawLog]) -> None:
    wanted = BloomFilter()
    for log in logs:
        wanted.add(to_bytes(hexstr=log.address))
        wanted.extend(to_bytes(hexstr=topic) for topic in log.topics)
    assert bloom_of(logs) == int(wanted)


def test_an_address_in_any_case__has_the_same_bits() -> None:
    address = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    assert bits_of(address) == bits_of(address.lower())
