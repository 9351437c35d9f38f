"""Uses of sponsored buys' authorizations, confirmed by ranges (confirmed_range.py): none is final before.

    written with a block at the tip --its range is confirmed--> final; what the record said otherwise is replaced
    no use up to a confirmed block at or after the end of an authorization --> it was never used

Nonces are random until their quote is committed, so that a block which was safe before a quote was
read holds no use of it. All quotes count, handed in or not; while none is open, no node is asked.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import SAFE, SPONSORED_CONFIRMED, Cursor
from core.chain.abi import address_word, topic_of
from core.db.engine import WriteSession
from core.sponsored import queries
from core.sponsored.logs import authorization_topics, authorizations_in, bought_event
from indexer.chain.confirmed_range import TURN_S, ConfirmedLogs, ConfirmedRanges
from indexer.chain.context import ChainContext
from indexer.chain.fetch_range import chunks

log = structlog.get_logger(__name__)


class SponsoredUses:
    """Confirms them, some of it a round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._ranges = ConfirmedRanges(chain, SPONSORED_CONFIRMED, clock)

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's."""
        over_at = time.monotonic() + TURN_S
        with self._chain.database.read() as session:
            if (safe := repository.cursor(session, SAFE)) is None:
                return
            at = self._ranges.at(session)
        at = self._ranges.confirm(at, safe, over_at, self._wanted, self._replace)
        self._ranges.measure_behind(at, safe)

    def _wanted(self, session: Session, at: Cursor) -> Sequence[dict[str, Any]]:
        """The uses of quoted authorizations, what they moved, and what was minted for it: by buyer,
        so that many quotes of one cost no more than one.
        """
        chain = self._chain
        buyers, tokens = queries.open_quotes(session, chain.chain_id, at.hash)
        topics = [*authorization_topics(), topic_of("Transfer"), bought_event().topic]
        contracts = sorted({chain.usdc, *tokens})
        return [
            {"address": contracts, "topics": [topics, some]}
            for some in chunks([address_word(buyer) for buyer in buyers])
        ]

    def _replace(self, session: WriteSession, found: ConfirmedLogs) -> None:
        chain = self._chain
        uses = authorizations_in(found.logs, chain.usdc)
        span = (found.above, found.last.number)
        if queries.replace_uses(session, chain.chain_id, *span, uses):
            log.error("corrected recorded uses of sponsored buys", above=span[0], up_to=span[1])
