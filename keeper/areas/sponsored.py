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
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

from core.keeper import requests as outbox
from core.keeper.rules import ENDS_OF_REQUEST, IntentState
from core.sponsored import queries, sending
from core.sponsored.queries import SeenBuy
from core.sponsored.rules import (
    REQUESTS_A_BUY,
    SEND_MARGIN_S,
    BuyPart,
    Heights,
    part_to_send,
)
from keeper.schedule import Job, JobPlace
from keeper.spared import did_of, spared_row

EVERY_S: Final = 5
A_RUN: Final = 500
QUOTES_A_RUN: Final = 5_000
NOWHERE: Final = Heights(None, None)  # what is left does not depend on what is final


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job("sponsored", EVERY_S, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many were asked for again, and how many quotes went. Errors: LeadershipLostError, the
    database's.
    """
    at = int(now.timestamp())
    with place.database.read() as session:
        open_ = queries.sendable(session, at + SEND_MARGIN_S, REQUESTS_A_BUY, A_RUN)
    done = [spared_row(partial(_again, place, seen, now), buy=seen.buy.id) for seen in open_]
    with place.database.write() as session:
        place.fence(session)
        dropped = queries.drop_quotes(session, at - queries.KEPT_AFTER_S, QUOTES_A_RUN)
    return {**did_of("asked_again", done), "quotes_dropped": dropped}


def _again(place: JobPlace, seen: SeenBuy, now: datetime) -> bool:
    buy = seen.buy
    part = part_to_send(*seen.fates(NOWHERE))
    if part is None:
        return False
    with place.database.write() as session:
        place.fence(session)
        key = sending.key_of(buy.id, buy.requests)
        last = outbox.states_of(session, [key])[key]
        if last.state not in ENDS_OF_REQUEST:
            return False
        if part is BuyPart.BOTH and last.state != IntentState.DONE:
            return False
        if not queries.count_request(session, buy.id, buy.requests):
            return False
        sending.ask(session, buy, part, buy.requests + 1, now)
    return True
