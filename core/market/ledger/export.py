"""The ledger of warnings as lines that anyone can check (docs/verify.md#ledgers-of-the-service)."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.ledger.chain import Link, genesis
from core.ledger.lines import ledger_lines, shown_head
from core.market.ledger.writer import COLUMNS, LEDGER, ONE, body_of
from core.market.tables import MarketWarning, MarketWarningHead

FORM: Final = "warnings"


def lines(session: Session, after: int, limit: int) -> Iterator[str]:
    """At most `limit` rows behind row `after`. The head is read first: the rows that it covers are
    there.
    """
    head = shown_head(genesis(LEDGER, ONE), session.get(MarketWarningHead, ONE))
    query = (
        select(MarketWarning)
        .where(MarketWarning.seq > after, MarketWarning.seq <= head.seq)
        .order_by(MarketWarning.seq)
        .limit(limit)
    )
    rows = (
        Link(
            row.seq,
            row.prev_hash,
            row.row_hash,
            body_of({name: getattr(row, name) for name in COLUMNS}),
        )
        for row in session.scalars(query)
    )
    return ledger_lines(FORM, head, after, rows)
