"""What an answer may be instead of JSON: a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is no JSON. `name`: what it is saved as, of A-Z a-z 0-9 . _ - alone."""

    media_type: str
    name: str
    content: bytes
