"""Addresses and hashes: 0x hex outside, bytes inside. Addresses are checksummed, hashes
lower-case.

Law: an address that somebody wrote is read here (`read_address`, `read_account`), whatever door it
came in by: where its capitals are a checksum (EIP-55), the checksum is right, since a mistyped
digit is somebody else's account.
"""

import re
from functools import cache, lru_cache
from typing import Final

from eth_utils.address import to_checksum_address

ZERO_ADDRESS: Final = "0x" + "0" * 40
WRONG_CHECKSUM: Final = (
    "its EIP-55 checksum, which is in the capital letters, is wrong, so a character may be mistyped; "
    "copy the whole address again"
)
_WRITTEN = re.compile(r"0[xX]([0-9a-fA-F]{40})", re.ASCII)


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


def read_address(text: object) -> str:
    """The checksum form of an address that somebody wrote: all lower case, all upper case, or with
    its own checksum.

    The zero address is one. Errors: ValueError, whose text is the rule and repeats nothing of what
    was written. Source: EIP-55.
    """
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError("write an address: 0x and 40 hex characters")
    digits = found[1]
    checksummed = checksum_address("0x" + digits.lower())
    if digits not in (digits.lower(), digits.upper(), checksummed[2:]):
        raise ValueError(WRONG_CHECKSUM)
    return checksummed


def read_account(text: object) -> str:
    """As `read_address`, of an account that somebody holds: the zero address is none."""
    address = read_address(text)
    if address == ZERO_ADDRESS:
        raise ValueError("the zero address belongs to nobody")
    return address


def address_or_none(raw: bytes | None) -> str | None:
    """As `address_of`; None stays None."""
    return None if raw is None else address_of(raw)


@cache
def address_of(raw: bytes) -> str:
    """With its checksum, which costs a hash: kept, since ticks and rollbacks ask for the same
    vaults.
    """
    return to_checksum_address(raw)
