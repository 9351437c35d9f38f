"""Text encodings of addresses: the parts of them that distinguish a typing error from an address.

Every function answers None for what is not encoded so, and never raises: what it is given was
written by anybody.
"""

import base64
import hashlib
from binascii import Error as NotEncoded
from binascii import crc_hqx
from typing import Final

BITCOIN_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
RIPPLE_ALPHABET: Final = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
CHECKSUM_BYTES: Final = 4
BASE58_CHARACTERS_MOST: Final = 128  # decoding costs the square of the length


def base58_bytes(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes | None:
    """Leading zeros of the alphabet are zero bytes. An empty text is not an encoding."""
    if not 0 < len(text) <= BASE58_CHARACTERS_MOST:
        return None
    number = 0
    for character in text:
        digit = alphabet.find(character)
        if digit < 0:
            return None
        number = number * 58 + digit
    zeros = len(text) - len(text.lstrip(alphabet[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58check_bytes(text: str, alphabet: str = BITCOIN_ALPHABET) -> bytes | None:
    """What the first four bytes of its double SHA-256 follow."""
    raw = base58_bytes(text, alphabet)
    if raw is None or len(raw) <= CHECKSUM_BYTES:
        return None
    payload, checksum = raw[:-CHECKSUM_BYTES], raw[-CHECKSUM_BYTES:]
    digest = hashlib.sha256(hashlib.sha256(payload).digest()).digest()
    return payload if digest[:CHECKSUM_BYTES] == checksum else None


def base64_crc16_bytes(text: str) -> bytes | None:
    """URL-safe base64 of bytes that their CRC-16/XMODEM follows, big-endian."""
    try:
        raw = base64.b64decode(text, b"-_", validate=True)
    except (NotEncoded, ValueError):  # ValueError: not ASCII
        return None
    is_canonical = base64.urlsafe_b64encode(raw).decode() == text
    payload, checksum = raw[:-2], raw[-2:]
    return payload if is_canonical and crc_hqx(payload, 0) == int.from_bytes(checksum) else None


def base32_crc16_bytes(text: str) -> bytes | None:
    """Base32 of bytes that their CRC-16/XMODEM follows, little-endian."""
    try:
        raw = base64.b32decode(text)
    except (NotEncoded, ValueError):
        return None
    is_canonical = base64.b32encode(raw).decode() == text
    payload, checksum = raw[:-2], raw[-2:]
    is_right = crc_hqx(payload, 0) == int.from_bytes(checksum, "little")
    return payload if is_canonical and is_right else None
