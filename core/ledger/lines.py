"""A ledger as lines of canonical JSON that anyone can check (docs/verify.md#ledgers-of-the-service).

{format, version, genesis_hash, after} | {body, prev_hash, row_hash} ... | {head, next_after}
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from core.canonical import canonical_json
from core.ledger.chain import LedgerEnd, Link

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ShownHead:
    """Where the ledger ends for whoever reads it. `genesis`: what its first row is chained to."""

    genesis: bytes
    seq: int
    row_hash: bytes


def shown_head(genesis: bytes, newest: LedgerEnd | None) -> ShownHead:
    """`newest` None: the ledger has no row that its reader may have."""
    if newest is None:
        return ShownHead(genesis, 0, genesis)
    return ShownHead(genesis, newest.seq, newest.row_hash)


def ledger_lines(form: str, head: ShownHead, after: int, rows: Iterable[Link]) -> Iterator[str]:
    """`form`: which ledger it is. `rows`: those behind row `after`, up to the head or fewer."""
    yield _line(
        {"format": form, "version": VERSION, "genesis_hash": head.genesis.hex(), "after": after}
    )
    last = after
    for row in rows:
        last = row.seq
        yield _line(
            {"body": row.body, "prev_hash": row.prev_hash.hex(), "row_hash": row.row_hash.hex()}
        )
    next_after = last if last < head.seq else None
    yield _line(
        {"head": {"seq": head.seq, "row_hash": head.row_hash.hex()}, "next_after": next_after}
    )


def _line(value: object) -> str:
    return canonical_json(value).decode() + "\n"
