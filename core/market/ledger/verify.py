"""Whether the ledger of warnings is sound: its chain and its head."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.ledger.chain import genesis, ledger_faults
from core.market.ledger.writer import LEDGER, ONE, link_of
from core.market.tables import MarketWarning, MarketWarningHead

AT_ONCE = 2_000


def warning_faults(session: Session) -> list[str]:
    """What is wrong with the ledger or its head; empty: sound. Rows are read a few at a time."""
    head = session.get(MarketWarningHead, ONE)
    query = select(MarketWarning).order_by(MarketWarning.seq).execution_options(yield_per=AT_ONCE)
    return ledger_faults(map(link_of, session.scalars(query)), genesis(LEDGER, ONE), head)
