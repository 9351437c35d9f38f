"""What blocks say of sponsored buys: uses of the authorizations that this service quoted.

At the tip every log of a block is at hand; a range of history is asked for the uses of the nonces
that may still count, and for the logs beside them. Nonces are random until their quote is committed,
so that no block can hold a use that nobody looked for.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from core.blocks import queries as blocks
from core.blocks.queries import TIP
from core.chain.abi import address_word, topic_of
from core.chain.blocks import RawLog
from core.sponsored import queries as sponsored
from core.sponsored.logs import (
    authorization_topics,
    bought_event,
)

NONCES_A_REQUEST = 500


Quoted = sponsored.OpenNonces


def quoted(session: Session, chain_id: int, now: datetime) -> Quoted:
    """What a range is searched for that begins where the record stands or above: however long ago that
    was, every authorization that a block since then may use.
    """
    at = blocks.cursor(session, TIP)
    since = None if at is None else blocks.block_time(session, chain_id, at.hash)
    return sponsored.open_nonces(session, chain_id, since or 0, now)


def filters_of(wanted: Quoted, usdc: str) -> Iterator[dict[str, Any]]:
    """eth_getLogs filters for the uses, what they moved, and what was minted for it."""
    for nonces in _chunks(wanted.nonces):
        yield {"address": usdc, "topics": [[*authorization_topics()], None, nonces]}
    for words in _chunks([address_word(buyer) for buyer in wanted.buyers]):
        yield {"address": usdc, "topics": [topic_of("Transfer"), words]}
        yield {"address": list(wanted.tokens), "topics": [bought_event().topic, words]}


def is_use(log: RawLog, usdc: str) -> bool:
    return log.address == usdc and len(log.topics) == 3 and log.topics[0] in authorization_topics()


def _chunks(items: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(items), NONCES_A_REQUEST):
        yield list(items[start : start + NONCES_A_REQUEST])
