"""The states of what the keeper sends: of an intent, and of each signed attempt at it.

    planned --> signed --> broadcast --> mined --> safe --> done
      |  |         |           |  ^        |  |      |
      |  |         +-----------+  +--------+--|------+    (its block was orphaned: the same bytes go out again)
      |  |         |           |           |  |
      |  |         |           +--> reverted <+           (it was mined and failed, or did not do what it was for)
      |  |         +-----------+--> superseded            (what took its nonce served another purpose of ours)
      |  |         +-----------+--> nonce_lost            (a transaction that is not ours took its nonce, or it is out of reach)
      |  +--> superseded                                  (nobody needs it any more)
      +-----> refused                                     (a request of the outbox that the chain refuses for too long)

Laws
- No state leads from `signed` back to `planned`: a crash at any point costs a resend, never a
  second transaction.
- The order of IntentState is the order in the table's CHECK and in the predicate of its partial
  index, both made from it: Postgres uses the index only for a query with the same words.
"""

from collections.abc import Mapping
from enum import StrEnum


class IntentState(StrEnum):
    PLANNED = "planned"
    SIGNED = "signed"
    BROADCAST = "broadcast"
    MINED = "mined"
    SAFE = "safe"
    DONE = "done"
    REVERTED = "reverted"
    SUPERSEDED = "superseded"
    NONCE_LOST = "nonce_lost"
    REFUSED = "refused"


class Purse(StrEnum):
    """Whose ETH pays for a request of the outbox: a key, a loop and a day's budget each.

    SPONSOR: docs/sponsored-buys.md.
    """

    CUSTODY = "custody"
    SPONSOR = "sponsor"


class TxState(StrEnum):
    """Of one signed attempt. LOST: its nonce is out of reach, or another transaction took it."""

    SIGNED = "signed"
    BROADCAST = "broadcast"
    MINED = "mined"
    LOST = "lost"


_ENDS_OF_SENT = {
    IntentState.MINED,
    IntentState.REVERTED,
    IntentState.SUPERSEDED,
    IntentState.NONCE_LOST,
}
_ENDS_OF_MINED = {
    IntentState.DONE,
    IntentState.BROADCAST,
    IntentState.REVERTED,
    IntentState.SUPERSEDED,
    IntentState.NONCE_LOST,
}
NEXT: Mapping[IntentState, frozenset[IntentState]] = {
    IntentState.PLANNED: frozenset(
        {IntentState.SIGNED, IntentState.SUPERSEDED, IntentState.REFUSED}
    ),
    IntentState.SIGNED: frozenset({IntentState.BROADCAST, *_ENDS_OF_SENT}),
    IntentState.BROADCAST: frozenset(_ENDS_OF_SENT),
    IntentState.MINED: frozenset({IntentState.SAFE, *_ENDS_OF_MINED}),
    IntentState.SAFE: frozenset(_ENDS_OF_MINED),
    IntentState.DONE: frozenset(),
    IntentState.REVERTED: frozenset(),
    IntentState.SUPERSEDED: frozenset(),
    IntentState.NONCE_LOST: frozenset(),
    IntentState.REFUSED: frozenset(),
}
TERMINAL = tuple(state for state in IntentState if not NEXT[state])
PENDING = (IntentState.SIGNED, IntentState.BROADCAST)
ON_CHAIN = (IntentState.MINED, IntentState.SAFE)
# the predicate of the index of stops: Postgres uses it only for a query with the same words
STOPS = "kind = 'stop'"
REFUSED_KEY = "refused"  # of a request's intent's reason: why it is not sent
QUEUED = "queued"  # of a request of the outbox before there is an intent
WAS_MINED = (*ON_CHAIN, IntentState.DONE)  # and did what it was for, as far as is known
# ends in which a mark never reached the chain's record
NOT_SENT = tuple(state for state in TERMINAL if state is not IntentState.DONE)
# after these nothing of a request is sent any more
UNPAID_ENDS = (IntentState.REVERTED, IntentState.REFUSED)
ENDS_OF_REQUEST = (IntentState.DONE, *UNPAID_ENDS)
# of a transaction whose nonce is taken while its intent is live
HOLDING = tuple(state for state in TxState if state is not TxState.LOST)


class LacksMark(StrEnum):
    """Which mark the record of a vault lacks: after the first call that spent, so that there is one
    wherever money is out; after a party's stop, which measures nothing, so that its end has a worth;
    after the end of its terms, before it is settled: a vault that settled without a stop takes none.
    """

    FIRST = "first"
    END = "ended"
    OVER = "terms_ended"
