"""The slow job `sponsored`: asks once more for what is left of a sponsored buy, and drops quotes that
nobody accepted (docs/sponsored-buys.md).

    its fee was submitted alone             --> the purchase alone is asked for
    its transaction was done, then orphaned --> what is left is asked for again
    its transaction failed, nothing moved   --> nothing: gas is not burned twice, and the buy lapses

Laws
- What was asked for last has ended before anything is asked again, and a buy is asked for
  REQUESTS_A_BUY times at most.
- What is left is what the indexer wrote; nothing is concluded from a receipt. An authorization is
  used once, so that what is sent twice pays once.
- A buy with nothing to do costs a read: transactions that write are opened for what is asked for, and
  for quotes that can go. All open buys are looked at, page by page, none before others.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from api.kernel.jobs import AreaJob, JobPlace
from core.jobs.each import did_of, isolated
from core.keeper import requests as outbox
from core.keeper.rules import ENDS_OF_REQUEST, IntentState
from core.sponsored import queries, sending
from core.sponsored.rules import (
    REQUESTS_A_BUY,
    SEND_MARGIN_S,
    BuyPart,
    part_to_send,
)
from core.sponsored.tables import SponsoredBuy

EVERY_S: Final = 5
LIMIT_S: Final = 120
A_PAGE: Final = 500
QUOTES_A_RUN: Final = 5_000


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many were asked for again, and how many quotes went. Errors: the database's."""
    at = int(now.timestamp())
    done = [
        isolated(partial(_again, place, buy, part, now), buy=buy.id)
        for buy, part in _left(place, at + SEND_MARGIN_S)
    ]
    return {**did_of("asked_again", done), "quotes_dropped": _dropped(place, at)}


def _left(place: JobPlace, after: int) -> Iterator[tuple[SponsoredBuy, BuyPart]]:
    """Every buy whose last request has ended, and what of it is to be sent."""
    last = ""
    while True:
        with place.database.read() as session:
            page = queries.sendable(session, after, REQUESTS_A_BUY, A_PAGE, last)
            wanted = [
                (seen.buy, part) for seen in page if (part := part_to_send(*seen.fates)) is not None
            ]
            keys = [sending.key_of(buy.id, buy.requests) for buy, _ in wanted]
            states = outbox.states_of(session, keys) if keys else {}
        for (buy, part), key in zip(wanted, keys, strict=True):
            last_one = states.get(key)
            if last_one is None or last_one.state not in ENDS_OF_REQUEST:
                continue
            # of both transfers only what was done, and then orphaned
            if part is BuyPart.PURCHASE or last_one.state == IntentState.DONE:
                yield buy, part
        if len(page) < A_PAGE:
            return
        last = page[-1].buy.id


def _again(place: JobPlace, buy: SponsoredBuy, part: BuyPart, now: datetime) -> bool:
    """An end of a request is its end for ever; somebody else may have asked meanwhile."""
    with place.database.write() as session:
        if not queries.count_request(session, buy.id, buy.requests):
            return False
        sending.ask(session, buy, part, buy.requests + 1, now)
    return True


def _dropped(place: JobPlace, at: int) -> int:
    ended_before = at - queries.KEPT_AFTER_S
    with place.database.read() as session:
        if not queries.has_quotes_to_drop(session, ended_before):
            return 0
    with place.database.write() as session:
        return queries.drop_quotes(session, ended_before, QUOTES_A_RUN)


JOBS: Final = (AreaJob("sponsored", EVERY_S, LIMIT_S, run),)
