"""The ledger of signals as lines that anyone can check (docs/verify.md#ledgers-of-the-service).

Law: it ends for its readers before the first row that is live. A signal has so few possible values
that the hash of a row, or the head behind it, would leak what is paid for.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.fund.ledger.writer import LEDGER, ONE, link_of
from core.fund.rules.signals import LIVE_FOR
from core.fund.tables import FundSignal
from core.ledger.chain import genesis
from core.ledger.lines import ledger_lines, shown_head

FORM: Final = "signals"


def lines(session: Session, after: int, limit: int, now: datetime) -> Iterator[str]:
    """At most `limit` historical rows behind row `after`. Times follow the order of rows, so that what
    is historical is the beginning of the ledger.
    """
    newest = (
        select(FundSignal.seq, FundSignal.row_hash)
        .where(FundSignal.at <= now - LIVE_FOR)
        .order_by(FundSignal.at.desc(), FundSignal.seq.desc())
        .limit(1)
    )
    head = shown_head(genesis(LEDGER, ONE), session.execute(newest).one_or_none())
    query = (
        select(FundSignal)
        .where(FundSignal.seq > after, FundSignal.seq <= head.seq)
        .order_by(FundSignal.seq)
        .limit(limit)
    )
    return ledger_lines(FORM, head, after, map(link_of, session.scalars(query)))
