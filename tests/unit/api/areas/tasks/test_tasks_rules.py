"""The life of tasks and claims, move by move, and what a settlement pays."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.tasks.rules import (
    CLAIM_LIFE,
    FURTHEST,
    TASK_LIFE,
    ClaimMove,
    ClaimStage,
    FiledProof,
    ProofOutcome,
    ProofVerdict,
    TaskMove,
    TaskState,
    Truth,
    WrongMoveError,
    claim_after,
    furthest,
    is_exclusive,
    require_observed,
    settle,
    task_after,
    tenths_on_approval,
)
from core.errors import InvalidParameterError
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MATCH, MISMATCH, UNVERIFIABLE = ProofVerdict

TASK_MOVES = {
    ("open", "hold"): "held",
    ("held", "release"): "open",
    ("held", "settle"): "settled",
    ("open", "close"): "closing",
    ("open", "settle"): "settled",
    ("closing", "settle"): "settled",
    ("settled", "release"): "open",
}
CLAIM_MOVES = {
    ("open", "claim"): "claimed",
    ("claimed", "submit"): "submitted",
    ("claimed", "lapse"): "expired",
    ("submitted", "verify"): "verified",
    ("submitted", "reject"): "rejected",
    ("submitted", "void"): "void",
    ("verified", "record"): "points_recorded",
    ("points_recorded", "pay"): "paid",
    ("verified", "reverse"): "rejected",
    ("points_recorded", "reverse"): "rejected",
    ("paid", "reverse"): "rejected",
    ("verified", "void"): "void",
    ("points_recorded", "void"): "void",
    ("paid", "void"): "void",
    ("rejected", "void"): "void",
}


@each(("state", "move"), list(product(TaskState, TaskMove)))
def test_a_task__moves_along_its_table_alone(state: TaskState, move: TaskMove) -> None:
    expected = TASK_MOVES.get((state.value, move.value))
    if expected is None:
        with pytest.raises(WrongMoveError) as refused:
            task_after(state, move)
        assert (refused.value.state, refused.value.move) == (state, move)
    else:
        assert task_after(state, move) == expected


@each(("stage", "move"), list(product(ClaimStage, ClaimMove)))
def test_a_claim__moves_along_its_table_alone(stage: ClaimStage, move: ClaimMove) -> None:
    expected = CLAIM_MOVES.get((stage.value, move.value))
    if expected is None:
        with pytest.raises(WrongMoveError) as refused:
            claim_after(stage, move)
        assert str(refused.value) == f"{stage.value}: {move.value} is not possible"
    else:
        assert claim_after(stage, move) == expected


def test_the_tables__have_no_other_line() -> None:
    assert len(TASK_LIFE) == len(TASK_MOVES)
    assert len(CLAIM_LIFE) == len(CLAIM_MOVES)


def test_every_stage__is_reached_from_open() -> None:
    reached = {ClaimStage.OPEN}
    for _ in ClaimStage:
        reached |= {after for (before, _), after in CLAIM_LIFE.items() if before in reached}
    assert reached == set(ClaimStage)


def test_expired_and_void__are_final() -> None:
    last = {ClaimStage.EXPIRED, ClaimStage.VOID}
    assert [line for line in CLAIM_LIFE if line[0] in last] == []


@each(
    ("stages", "expected"),
    [
        ((), "open"),
        (("expired", "rejected", "void"), "open"),
        (("claimed", "expired"), "claimed"),
        (("submitted", "claimed"), "submitted"),
        (("verified", "submitted"), "verified"),
        (("points_recorded", "verified"), "points_recorded"),
        (("points_recorded", "paid", "rejected"), "paid"),
    ],
)
def test_furthest__is_that_of_all_claims(stages: Sequence[str], expected: str) -> None:
    assert furthest(map(ClaimStage, stages)) == expected


def test_furthest__names_the_six_of_the_specification() -> None:
    assert [stage.value for stage in FURTHEST] == [
        "open",
        "claimed",
        "submitted",
        "verified",
        "points_recorded",
        "paid",
    ]


def test_a_re_observation_alone__takes_several_claims() -> None:
    assert (is_exclusive("reobserve"), is_exclusive("translation")) == (False, True)


def test_points__are_those_of_the_operator_or_three_for_a_re_observation() -> None:
    assert tenths_on_approval("translation", 25) == 25
    assert tenths_on_approval("reobserve", 25) == 30


# Proofs


@pytest.mark.parametrize("at", [NOW, NOW - timedelta(days=7)])
def test_observed_at__may_be_now_and_seven_days_ago(at: datetime) -> None:
    require_observed(at, NOW)


@pytest.mark.parametrize(
    ("at", "says"),
    [
        (NOW + timedelta(microseconds=1), "write when you looked, a time that is past"),
        (
            NOW - timedelta(days=7, microseconds=1),
            "look again; an observation older than 7 days proves nothing now",
        ),
    ],
)
def test_observed_at__in_the_future_or_older__is_refused(at: datetime, says: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        require_observed(at, NOW)
    assert (refused.value.field, refused.value.rule) == ("observed_at", says)


# The settlement


def proofs(*verdicts: ProofVerdict) -> list[FiledProof]:
    return [FiledProof(place=place, verdict=one) for place, one in enumerate(verdicts, 1)]


def shown(outcomes: Sequence[ProofOutcome]) -> list[tuple[str, int]]:
    return [(one.stage.value, one.tenths) for one in outcomes]


PAID, UNPAID = ("points_recorded", 30), ("verified", 0)
WRONG, NOTHING = ("rejected", -30), ("void", 0)


def test_the_first_five_that_agree__are_paid_and_the_sixth_is_verified() -> None:
    assert shown(settle(proofs(*[MATCH] * 6), Truth.MATCH)) == [PAID] * 5 + [UNPAID]


def test_a_wrong_one__owes_and_takes_no_place() -> None:
    found = settle(proofs(MISMATCH, *[MATCH] * 5, MISMATCH), Truth.MATCH)
    assert shown(found) == [WRONG, *[PAID] * 5, WRONG]


def test_of_a_wrong_value__those_that_saw_another_are_paid() -> None:
    assert shown(settle(proofs(MISMATCH, MATCH), Truth.MISMATCH)) == [PAID, WRONG]


@pytest.mark.parametrize("truth", list(Truth))
def test_unverifiable__is_void(truth: Truth) -> None:
    assert shown(settle(proofs(UNVERIFIABLE), truth)) == [NOTHING]


def test_without_a_truth__all_is_void() -> None:
    assert shown(settle(proofs(MATCH, MISMATCH, UNVERIFIABLE), Truth.VOID)) == [NOTHING] * 3


def test_evidence__pays_and_costs_nothing() -> None:
    late = [
        FiledProof(place=1, verdict=MATCH, is_evidence=True),
        FiledProof(place=2, verdict=MISMATCH, is_evidence=True),
    ]
    assert shown(settle(late, Truth.MATCH)) == [NOTHING] * 2


def test_receipt__orders_them_whatever_their_order_in_the_list() -> None:
    found = settle(list(reversed(proofs(*[MATCH] * 6))), Truth.MATCH)
    assert [(one.place, one.tenths) for one in found] == [
        (1, 30),
        (2, 30),
        (3, 30),
        (4, 30),
        (5, 30),
        (6, 0),
    ]


def grouped(*groups: str, verdict: ProofVerdict = MATCH) -> list[FiledProof]:
    """A proof for each word, whose letters are its groups."""
    return [
        FiledProof(place=place, verdict=verdict, groups=frozenset(word))
        for place, word in enumerate(groups, 1)
    ]


def test_of_those_that_share_a_group__the_first_is_paid_and_others_move_up() -> None:
    found = settle(grouped("ax", "bx", "cx", "dy", "ey", "f", "g", "h", "i"), Truth.MATCH)
    assert shown(found) == [
        PAID,
        UNPAID,
        UNPAID,
        PAID,
        UNPAID,
        *[PAID] * 3,
        UNPAID,
    ]


def test_who_shares_with_one_before__is_of_its_group__and_who_comes_later_joins_no_two() -> None:
    """The second shares x with the first and y with the third; last, it joins nobody who was paid."""
    assert shown(settle(grouped("ax", "bxy", "cy"), Truth.MATCH)) == [PAID, UNPAID, UNPAID]
    assert shown(settle(grouped("ax", "cy", "bxy"), Truth.MATCH)) == [PAID, PAID, UNPAID]


def test_the_submitters_group__is_paid_nothing_for_being_right__and_owes_for_being_wrong() -> None:
    filed, submitter = grouped("ax", "by", "cy", "d"), frozenset("y")
    assert shown(settle(filed, Truth.MATCH, submitter)) == [PAID, NOTHING, NOTHING, PAID]
    assert shown(settle(filed, Truth.MISMATCH, submitter)) == [WRONG] * 4


def test_wrong_ones_that_share_a_group__owe_each() -> None:
    assert shown(settle(grouped("ax", "bx"), Truth.MISMATCH)) == [WRONG] * 2


@given(words=st.lists(st.sets(st.sampled_from("uvwxyz"), max_size=3).map("".join), max_size=24))
def test_the_paid_places__are_of_as_many_groups_as_there_are(words: list[str]) -> None:
    filed = grouped(*words)
    groups, paid = list[tuple[set[str], bool]](), 0  # letters, and whether one of them was paid
    for proof, outcome in zip(filed, settle(filed, Truth.MATCH), strict=True):
        own = [one for one in groups if one[0] & proof.groups]
        is_free = paid < 5 and not any(is_paid for _, is_paid in own)
        assert (outcome.stage.value, outcome.tenths) == (PAID if is_free else UNPAID)
        letters = set(proof.groups).union(*(letters for letters, _ in own))
        is_paid = is_free or any(is_paid for _, is_paid in own)
        groups = [one for one in groups if one not in own] + [(letters, is_paid)]
        paid += is_free
    assert paid <= 5


FILED = st.lists(st.tuples(st.sampled_from(list(ProofVerdict)), st.booleans()), max_size=24).map(
    lambda rows: [
        FiledProof(place=place, verdict=verdict, is_evidence=late)
        for place, (verdict, late) in enumerate(rows, 1)
    ]
)


@given(filed=FILED, truth=st.sampled_from(list(Truth)), cut=st.integers(0, 24))
def test_a_settlement__holds_its_laws(filed: list[FiledProof], truth: Truth, cut: int) -> None:
    found = {one.place: one for one in settle(filed, truth)}
    assert set(found) == {one.place for one in filed}  # each once
    counted = [one for one in filed if not one.is_evidence and truth is not Truth.VOID]
    right = [one.place for one in counted if one.verdict.value == truth.value]
    wrong = {
        one.place
        for one in counted
        if one.verdict.value != truth.value and one.verdict is not UNVERIFIABLE
    }
    assert {place for place, one in found.items() if one.tenths > 0} == set(right[:5])
    assert {place for place, one in found.items() if one.tenths < 0} == wrong
    assert {one.tenths for one in found.values()} <= {-30, 0, 30}
    assert sum(max(one.tenths, 0) for one in found.values()) <= 150
    # what came later changes nothing of what came before
    for one in settle(filed[:cut], truth):
        assert found[one.place] == one
