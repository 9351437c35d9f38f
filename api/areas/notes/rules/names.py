"""Names of notes: the files and links that lead to a ticker.

    ticker   BTC  --> BTC.md       [[BTC]]
             CON  --> CON--9b1f0c5a.md    [[CON--9b1f0c5a|CON]]     a name that some system cannot hold
    hub      eip155:1 --> chain/eip155-1.md    [[chain/eip155-1|eip155:1]]

Laws
- A name follows from the ticker alone, so that every note can write a link to every other.
- Two tickers never share a file, not even where case does not count: what is no plain ticker ends
  in `--` and a part of its hash, which no plain ticker does.
- No two files have one name, whatever their folders: note apps find a note by its name alone. So a
  ticker that is one of OWN_WORDS has a hash, and so has a hub of any other single word, and of a
  name that is not ours.
- A file's name is ASCII, and no device of Windows; it begins and ends with a letter or digit.
"""

import hashlib
import re
from enum import StrEnum
from typing import Final

from api.areas.claims.rules.tickers import capitals

NAME_CHARACTERS_MOST: Final = 40
HASH_CHARACTERS: Final = 8
INDEX: Final = "_index"
UNKNOWN: Final = "unknown"

_PLAIN_TICKER: Final = re.compile(r"[A-Z0-9]{1,32}")
_PLAIN_NAME: Final = re.compile(r"(?=.{1,40}\Z)[a-z0-9]+(?:_[a-z0-9]+)+")
OWN_WORDS: Final = frozenset({"crypto", "stablecoin", "collision", "delisted"})
_CHAIN: Final = re.compile(r"([a-z0-9]{1,12}):([a-z0-9]{1,12})")
_DEVICE: Final = re.compile(r"con|prn|aux|nul|clock|(?:com|lpt)[0-9]")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]+")
_HASHED: Final = re.compile(rf"--[0-9a-f]{{{HASH_CHARACTERS}}}\Z")


class HubKind(StrEnum):
    """Folders of the notes that many tokens lead to."""

    CHAIN = "chain"
    CLASS = "class"
    FLAG = "flag"
    EVENT = "event"
    BACKER = "backer"


_NAMED_BY_US: Final = frozenset({HubKind.CLASS, HubKind.FLAG, HubKind.EVENT})


def token_file(ticker: str) -> str:
    """The name of the token's file, without its ending."""
    if _PLAIN_TICKER.fullmatch(ticker):
        lower = ticker.lower()
        if not _DEVICE.fullmatch(lower) and lower not in OWN_WORDS:
            return ticker
    return _with_hash(ticker, "token", ticker)


def file_meant(sent: str) -> str:
    """The file, without its ending, that is named by its path or by a token's ticker in any case."""
    if "/" in sent or _HASHED.search(sent):
        return sent
    return token_file(capitals(sent))


def hub_name(kind: HubKind, name: str) -> str:
    """Whose hub it is: chains that this service does not know have one, whatever exchanges call them."""
    return UNKNOWN if kind is HubKind.CHAIN and name.startswith(f"{UNKNOWN}:") else name


def hub_file(kind: HubKind, name: str) -> str:
    """The path of a hub's file, without its ending. `name`: as it comes from outside."""
    name = hub_name(kind, name)
    chain = _CHAIN.fullmatch(name) if kind is HubKind.CHAIN else None
    if chain is not None:
        return f"{kind}/{chain[1]}-{chain[2]}"
    if kind in _NAMED_BY_US and (name in OWN_WORDS or _PLAIN_NAME.fullmatch(name)):
        return f"{kind}/{name}"
    return f"{kind}/{_with_hash(name, kind, f'{kind}/{name}').lower()}"


def _with_hash(name: str, instead: str, hashed: str) -> str:
    """`instead`: of a name without a letter or digit of ASCII. `hashed`: what only this file is of."""
    seen = _NOT_PLAIN.sub("_", name[:NAME_CHARACTERS_MOST]).strip("_") or instead
    return f"{seen}--{hashlib.sha256(hashed.encode()).hexdigest()[:HASH_CHARACTERS]}"
