"""The ledger of warnings as lines that anyone can check (docs/verify.md#ledgers-of-the-service)."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.ledger.chain import genesis
from core.ledger.lines import ledger_lines, shown_head
from core.market.ledger.writer import LEDGER, ONE, link_of
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
    return ledger_lines(FORM, head, after, map(link_of, session.scalars(query)))
