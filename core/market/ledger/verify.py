"""Whether the ledger of warnings is sound: its chain and its head."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.ledger.chain import Link, chain_faults, genesis
from core.market.ledger.writer import COLUMNS, LEDGER, ONE, body_of
from core.market.tables import MarketWarning, MarketWarningHead

AT_ONCE = 2_000


def warning_faults(session: Session) -> list[str]:
    """What is wrong with the ledger or its head; empty: sound. Rows are read a few at a time."""
    first = genesis(LEDGER, ONE)
    last = (0, first)

    def links() -> Iterator[Link]:
        nonlocal last
        columns = [getattr(MarketWarning, name) for name in COLUMNS]
        query = select(*columns).order_by(MarketWarning.seq)
        for row in session.execute(query.execution_options(yield_per=AT_ONCE)).mappings():
            named: dict[str, Any] = {name: row[name] for name in COLUMNS}
            last = (named["seq"], named["row_hash"])
            yield Link(named["seq"], named["prev_hash"], named["row_hash"], body_of(named))

    faults = chain_faults(links(), first)
    head = session.get(MarketWarningHead, ONE)
    if head is None:
        return [*faults, "the ledger has rows and no head"] if last[0] else faults
    if (head.seq, head.row_hash) != last:
        faults.append(f"head: at seq {head.seq}, and the ledger is not")
    return faults
