"""The vault's own hash of its logs: one word that every log replaces (MandateVault.sol, LOGS).

    terms digest -> keccak(word, block number, block time, keccak(topics, data)) for each log

Pure. Law: two lists of logs that give the same word are the same list, in the same blocks.
"""

from typing import Final

from eth_hash.main import Keccak256
from eth_hash.utils import load_backend

WORD_BYTES: Final = 32


def quick_keccak() -> Keccak256:
    """Two hashes a log: pysha3's take a sixth of the time, and it has wheels for Linux alone.
    eth_utils looks at each argument for twice the time.
    """
    try:
        return Keccak256(load_backend("pysha3"))
    except ImportError:
        return Keccak256(load_backend("pycryptodome"))


keccak: Final = quick_keccak()


def grown(head: bytes, number: int, at: int, event: bytes) -> bytes:
    """The word after a log. `number` and `at`: its block's height and unix second; `event`: its
    topics and then its data.
    """
    place = number.to_bytes(WORD_BYTES, "big") + at.to_bytes(WORD_BYTES, "big")
    return keccak(head + place + keccak(event))
