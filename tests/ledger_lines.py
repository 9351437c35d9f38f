"""Downloads of the service's ledgers, changed as a liar would."""

import json
from collections.abc import Callable
from typing import Any

from core.canonical import canonical_json, chain_hash

Change = Callable[[dict[str, Any]], object]


def changed(content: bytes, row: int, change: Change) -> bytes:
    """`row`: its line; the first says what the file is, the last is the head."""
    lines = [json.loads(line) for line in content.splitlines()]
    change(lines[row])
    return b"".join(canonical_json(one) + b"\n" for one in lines)


def rehashed(content: bytes) -> bytes:
    """With hashes that fit, as whoever has the database could write them."""
    first, *rows, last = (json.loads(line) for line in content.splitlines())
    row_hash = bytes.fromhex(first["genesis_hash"])
    for row in rows:
        row["prev_hash"] = row_hash.hex()
        row_hash = chain_hash(row_hash, canonical_json(row["body"]))
        row["row_hash"] = row_hash.hex()
    last["head"] |= {"row_hash": row_hash.hex(), "seq": len(rows)}
    return b"".join(canonical_json(one) + b"\n" for one in (first, *rows, last))
