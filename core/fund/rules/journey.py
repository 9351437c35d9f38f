"""The way from a new account to a vault of its own: eight nodes, each a function of facts alone
(docs/fund.md#the-journey).

    register, link_wallet, first_earn, apply, pilot, track_record, request_creation, vault

Laws
- The same facts are the same journey; nothing is remembered of it.
- Without a pilot nothing after it is done or in progress.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.fund.rules.creation import LEAST_PILOT, CreationState

SPOT_PILOT: Final = timedelta(days=14)
RECORD: Final = LEAST_PILOT  # the creation request asks for no less


class JourneyNode(StrEnum):
    REGISTER = "register"
    LINK_WALLET = "link_wallet"
    FIRST_EARN = "first_earn"
    APPLY = "apply"
    PILOT = "pilot"
    TRACK_RECORD = "track_record"
    REQUEST_CREATION = "request_creation"
    VAULT = "vault"


class NodeState(StrEnum):
    """State of a step. `next`: not started."""

    DONE = "done"
    IN_PROGRESS = "in_progress"
    NEXT = "next"


@dataclass(frozen=True, slots=True, kw_only=True)
class JourneyFacts:
    """`awarded_credits`: of awards that stand; `waiting_credits`: what of them is not paid yet.
    `is_applying`: an application waits for an operator. `pilot_began_at` None: no pilot. `request`:
    of the pilot's newest creation request.
    """

    has_account: bool = False
    has_wallet: bool = False
    awarded_credits: int = 0
    waiting_credits: int = 0
    is_applying: bool = False
    pilot_began_at: datetime | None = None
    request: CreationState | None = None


def journey(facts: JourneyFacts, now: datetime) -> dict[JourneyNode, NodeState]:
    """Of each node its state, in order."""
    if facts.pilot_began_at is None:
        facts = replace(facts, request=None)
    return {
        JourneyNode.REGISTER: _done_if(facts.has_account),
        JourneyNode.LINK_WALLET: _done_if(facts.has_wallet),
        JourneyNode.FIRST_EARN: _earned(facts),
        JourneyNode.APPLY: _applied(facts),
        JourneyNode.PILOT: _aged(facts.pilot_began_at, SPOT_PILOT, now),
        JourneyNode.TRACK_RECORD: _aged(facts.pilot_began_at, RECORD, now),
        JourneyNode.REQUEST_CREATION: _done_if(facts.request not in (None, CreationState.REJECTED)),
        JourneyNode.VAULT: _created(facts.request),
    }


def _done_if(is_done: bool) -> NodeState:
    return NodeState.DONE if is_done else NodeState.NEXT


def _earned(facts: JourneyFacts) -> NodeState:
    if facts.awarded_credits > facts.waiting_credits:
        return NodeState.DONE
    return NodeState.IN_PROGRESS if facts.awarded_credits else NodeState.NEXT


def _applied(facts: JourneyFacts) -> NodeState:
    if facts.pilot_began_at is not None:
        return NodeState.DONE
    return NodeState.IN_PROGRESS if facts.is_applying else NodeState.NEXT


def _aged(began_at: datetime | None, least: timedelta, now: datetime) -> NodeState:
    if began_at is None:
        return NodeState.NEXT
    return NodeState.DONE if now >= began_at + least else NodeState.IN_PROGRESS


def _created(request: CreationState | None) -> NodeState:
    if request is CreationState.CREATED:
        return NodeState.DONE
    is_waiting = request in (CreationState.REQUESTED, CreationState.APPROVED)
    return NodeState.IN_PROGRESS if is_waiting else NodeState.NEXT
