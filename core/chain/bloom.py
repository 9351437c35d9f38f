"""Which addresses and topics a block's or a receipt's 2,048 bits admit.

Source: Yellow Paper, 4.4.3 (M3:2048).

Three bits for each value, from its hash. A bloom proves that a value is absent, never that it is
there; two blooms that ought to be equal prove an omission unless all bits of what was left out are
others' as well.
"""

from collections.abc import Iterable
from functools import lru_cache

from eth_utils.crypto import keccak

from core.chain.blocks import RawLog

BITS = 2_048


@lru_cache(maxsize=131_072)
def bits_of(value: str) -> int:
    """The bits of an address or topic in 0x hex, remembered: hashing is what a bloom costs, and a
    chain names the same values again.
    """
    digest = keccak(hexstr=value)
    low = BITS - 1
    return (
        1 << (int.from_bytes(digest[0:2], "big") & low)
        | 1 << (int.from_bytes(digest[2:4], "big") & low)
        | 1 << (int.from_bytes(digest[4:6], "big") & low)
    )


def bloom_of(logs: Iterable[RawLog]) -> int:
    """The bloom of exactly these logs."""
    bloom = 0
    for log in logs:
        bloom |= bits_of(log.address)
        for topic in log.topics:
            bloom |= bits_of(topic)
    return bloom
