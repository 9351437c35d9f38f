"""The ledger of warnings as lines that anyone can check (docs/verify.md#the-ledger-of-warnings)."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.canonical import canonical_json
from core.ledger.chain import genesis
from core.market.ledger.writer import COPIED, LEDGER, ONE, body_of
from core.market.tables import MarketWarning, MarketWarningHead

FORMAT: Final = "warnings"
VERSION: Final = 1


def lines(session: Session, after: int, limit: int) -> Iterator[str]:
    """A line that says what this is, at most `limit` rows behind row `after`, and the head; each is
    canonical JSON. The head is read first: the rows that it covers are there.
    """
    head = session.get(MarketWarningHead, ONE)
    first = genesis(LEDGER, ONE)
    seq, row_hash = (0, first) if head is None else (head.seq, head.row_hash)
    yield _line({"format": FORMAT, "version": VERSION, "genesis_hash": first.hex(), "after": after})
    query = (
        select(MarketWarning)
        .where(MarketWarning.seq > after, MarketWarning.seq <= seq)
        .order_by(MarketWarning.seq)
        .limit(limit)
    )
    last = after
    for row in session.scalars(query):
        last = row.seq
        yield _line(
            {
                "body": body_of({name: getattr(row, name) for name in COPIED}),
                "prev_hash": row.prev_hash.hex(),
                "row_hash": row.row_hash.hex(),
            }
        )
    next_after = last if last < seq else None
    yield _line({"head": {"seq": seq, "row_hash": row_hash.hex()}, "next_after": next_after})


def _line(value: object) -> str:
    return canonical_json(value).decode() + "\n"
