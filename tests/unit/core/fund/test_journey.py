"""Each node of the journey at its boundary."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fund.rules.creation import CreationState
from core.fund.rules.journey import JourneyFacts, JourneyNode, NodeState, journey
from tests.each import each
from tests.unit.core.fund.made import AT

DONE, IN_PROGRESS, NEXT = NodeState
MOMENT = timedelta(microseconds=1)


def state(node: JourneyNode, **facts: Any) -> NodeState:
    return journey(JourneyFacts(**facts), AT)[node]


def test_nothing_known__is_eight_nodes_that_have_not_begun() -> None:
    assert list(journey(JourneyFacts(), AT).items()) == [(node, NEXT) for node in JourneyNode]


@each(
    ("awarded", "waiting", "found"),
    [(0, 0, NEXT), (20, 20, IN_PROGRESS), (20, 19, DONE), (20, 0, DONE)],
)
def test_first_earn__is_done_by_the_first_credit_paid(
    awarded: int, waiting: int, found: NodeState
) -> None:
    facts = {"awarded_credits": awarded, "waiting_credits": waiting}
    assert state(JourneyNode.FIRST_EARN, **facts) is found


@pytest.mark.parametrize(
    ("node", "days"), [(JourneyNode.PILOT, 14), (JourneyNode.TRACK_RECORD, 30)]
)
def test_a_pilots_node__is_done_at_its_days_and_not_before(node: JourneyNode, days: int) -> None:
    began_at = AT - timedelta(days=days)
    assert state(node, pilot_began_at=began_at) is DONE
    assert state(node, pilot_began_at=began_at + MOMENT) is IN_PROGRESS


@each(
    ("request_", "asked", "vault"),
    [
        (None, NEXT, NEXT),
        (CreationState.REQUESTED, DONE, IN_PROGRESS),
        (CreationState.APPROVED, DONE, IN_PROGRESS),
        (CreationState.CREATED, DONE, DONE),
        (CreationState.REJECTED, NEXT, NEXT),
    ],
)
def test_the_last_two_nodes__follow_the_request(
    request_: CreationState | None, asked: NodeState, vault: NodeState
) -> None:
    facts: dict[str, Any] = {"pilot_began_at": AT, "request": request_}
    assert state(JourneyNode.REQUEST_CREATION, **facts) is asked
    assert state(JourneyNode.VAULT, **facts) is vault


FACTS = st.builds(
    JourneyFacts,
    has_account=st.booleans(),
    has_wallet=st.booleans(),
    awarded_credits=st.integers(0, 100),
    waiting_credits=st.integers(0, 100),
    pilot_began_at=st.none() | st.integers(0, 60).map(lambda days: AT - timedelta(days=days)),
    request=st.none() | st.sampled_from(CreationState),
)
LAST_FIVE = list(JourneyNode)[3:]


@given(FACTS)
def test_without_a_pilot__nothing_after_it_has_begun(facts: JourneyFacts) -> None:
    found = journey(facts, AT)
    begun = {node for node in LAST_FIVE if found[node] is not NEXT}
    assert facts.pilot_began_at is not None or begun == set()


@given(FACTS, st.integers(0, 60))
def test_time_alone__never_takes_a_node_back(facts: JourneyFacts, days: int) -> None:
    before, after = journey(facts, AT), journey(facts, AT + timedelta(days=days))
    assert all(after[node] is DONE for node in JourneyNode if before[node] is DONE)
