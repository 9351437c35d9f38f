"""Addresses and hashes: 0x hex outside, bytes inside. Addresses are checksummed, hashes
lower-case.
"""

from functools import cache, lru_cache

from eth_utils.address import to_checksum_address


def bytes_of(text: str) -> bytes:
    """Errors: ValueError."""
    return bytes.fromhex(text.removeprefix("0x"))


def hex_of(raw: bytes) -> str:
    return "0x" + raw.hex()


@lru_cache(maxsize=65_536)
def checksum_address(address: str) -> str:
    """The checksum form of a 0x address, remembered: a checksum is a hash, and a chain names the
    same accounts again and again.
    """
    return to_checksum_address(address)


def address_or_none(raw: bytes | None) -> str | None:
    """As `address_of`; None stays None."""
    return None if raw is None else address_of(raw)


@cache
def address_of(raw: bytes) -> str:
    """With its checksum, which costs a hash: kept, since ticks and rollbacks ask for the same
    vaults.
    """
    return to_checksum_address(raw)
