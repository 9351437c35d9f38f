"""What a report is in the balances, and which step follows from what the chain shows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.money import usdc_e6_from_text
from core.transfers.rules import (
    Direction,
    Failure,
    FourStates,
    Sighting,
    State,
    TokenTransfer,
    TransferStep,
    TransferVerdict,
    Watched,
    funder_of,
    judge,
    move,
    moved,
    standing,
)
from tests.each import each

DEADLINE = 10_000
HERE, THERE = "0x" + "aa" * 32, "0x" + "bb" * 32
MINE, OTHER = "0x" + "1" * 40, "0x" + "2" * 40
AMOUNT = 10


def watched(state: State, block_hash: str | None = None) -> Watched:
    return Watched(state=state, amount_e6=AMOUNT, deadline=DEADLINE, block_hash=block_hash)


def sighting(
    *,
    is_safe: bool = True,
    is_success: bool = True,
    moved_e6: int | None = AMOUNT,
    at: int = DEADLINE,
    block_hash: str = HERE,
) -> Sighting:
    return Sighting(
        block_hash=block_hash,
        block_number=7,
        at=at,
        is_safe=is_safe,
        is_success=is_success,
        moved_e6=moved_e6,
        log_index=0,
    )


@each(
    ("direction", "state", "place"),
    [
        (Direction.IN, State.REPORTED, FourStates(in_transit_e6=AMOUNT)),
        (Direction.IN, State.SEEN, FourStates(in_transit_e6=AMOUNT)),
        (Direction.IN, State.CONFIRMED, FourStates(idle_e6=AMOUNT)),
        (Direction.IN, State.FAILED, FourStates()),
        (Direction.OUT, State.REPORTED, FourStates(idle_e6=-AMOUNT, in_transit_e6=AMOUNT)),
        (Direction.OUT, State.SEEN, FourStates(idle_e6=-AMOUNT, in_transit_e6=AMOUNT)),
        (Direction.OUT, State.CONFIRMED, FourStates(idle_e6=-AMOUNT, delivered_e6=AMOUNT)),
        (Direction.OUT, State.FAILED, FourStates()),
    ],
)
def test_standing__follows_from_the_state_alone(
    direction: Direction, state: State, place: FourStates
) -> None:
    assert standing(direction, state, AMOUNT) == place


@given(
    st.sampled_from(Direction), st.integers(1, 10**18), st.lists(st.sampled_from(State), min_size=1)
)
def test_moves__from_nothing_through_any_states__add_up_to_the_last_place(
    direction: Direction, amount: int, states: list[State]
) -> None:
    total, before = FourStates(), State.FAILED  # a failed report has no place
    for state in states:
        total, before = total.plus(move(direction, amount, before, state)), state
    assert total == standing(direction, before, amount)


@each(
    ("state", "shown", "safe_at", "step"),
    [
        # Not seen: the deadline itself is in time.
        (State.REPORTED, None, DEADLINE, TransferStep(TransferVerdict.WAIT)),
        (State.REPORTED, None, DEADLINE + 1, TransferStep(TransferVerdict.FAIL, Failure.NOT_SEEN)),
        (State.SEEN, None, DEADLINE + 1, TransferStep(TransferVerdict.UNSEE)),
        # Seen, not safe: nothing is judged, however wrong it looks.
        (State.REPORTED, sighting(is_safe=False), DEADLINE + 1, TransferStep(TransferVerdict.SEE)),
        (
            State.REPORTED,
            sighting(is_safe=False, is_success=False),
            0,
            TransferStep(TransferVerdict.SEE),
        ),
        # Safe.
        (State.REPORTED, sighting(), 0, TransferStep(TransferVerdict.CONFIRM)),
        (State.SEEN, sighting(), DEADLINE + 1, TransferStep(TransferVerdict.CONFIRM)),
        (
            State.REPORTED,
            sighting(is_success=False, moved_e6=None),
            0,
            TransferStep(TransferVerdict.FAIL, Failure.REVERTED),
        ),
        (
            State.SEEN,
            sighting(moved_e6=AMOUNT + 1),
            0,
            TransferStep(TransferVerdict.FAIL, Failure.CONTRADICTED),
        ),
        (
            State.SEEN,
            sighting(moved_e6=AMOUNT - 1),
            0,
            TransferStep(TransferVerdict.FAIL, Failure.CONTRADICTED),
        ),
        (
            State.SEEN,
            sighting(moved_e6=None),
            0,
            TransferStep(TransferVerdict.FAIL, Failure.CONTRADICTED),
        ),
        # Failed: a block of the deadline's second is in time, however late it is looked at; one
        # second later is not.
        (State.FAILED, None, DEADLINE, TransferStep(TransferVerdict.WAIT)),
        (State.FAILED, None, DEADLINE + 1, TransferStep(TransferVerdict.CLOSE)),
        (State.FAILED, sighting(at=DEADLINE), DEADLINE + 9, TransferStep(TransferVerdict.CONFIRM)),
        (
            State.FAILED,
            sighting(at=DEADLINE + 1),
            DEADLINE + 1,
            TransferStep(TransferVerdict.CLOSE),
        ),
        (State.FAILED, sighting(is_safe=False), DEADLINE + 1, TransferStep(TransferVerdict.WAIT)),
        (State.FAILED, sighting(is_success=False), DEADLINE, TransferStep(TransferVerdict.WAIT)),
        (
            State.FAILED,
            sighting(moved_e6=AMOUNT - 1),
            DEADLINE + 1,
            TransferStep(TransferVerdict.CLOSE),
        ),
    ],
)
def test_judge__takes_the_step_that_the_chain_shows(
    state: State, shown: Sighting | None, safe_at: int, step: TransferStep
) -> None:
    assert judge(watched(state), shown, safe_at) == step


@pytest.mark.parametrize(
    ("block_hash", "verdict"), [(HERE, TransferVerdict.WAIT), (THERE, TransferVerdict.SEE)]
)
def test_judge__seen_in_another_block_than_before__is_seen_anew(
    block_hash: str, verdict: TransferVerdict
) -> None:
    assert judge(
        watched(State.SEEN, HERE), sighting(is_safe=False, block_hash=block_hash), 0
    ) == TransferStep(verdict)


def test_the_funder__is_who_sent_the_largest_amount() -> None:
    third = "0x" + "33" * 20
    logs = ((OTHER, MINE, 3), (third, MINE, 4), (MINE, MINE, 100), (MINE, OTHER, 9))
    transfers = tuple(
        TokenTransfer(from_=from_, to=to, amount_e6=amount, log_index=0)
        for from_, to, amount in logs
    )
    assert funder_of(transfers, MINE) == third
    assert funder_of(transfers[2:], MINE) is None
    assert funder_of(transfers, None) is None


def test_moved__is_the_sum_of_a_direction_with_its_first_log() -> None:
    logs = (
        (OTHER, MINE, 3),
        (MINE, OTHER, 5),
        (OTHER, MINE, 4),
        (MINE, MINE, 100),
        (OTHER, OTHER, 200),
    )
    transfers = tuple(
        TokenTransfer(from_=from_, to=to, amount_e6=amount, log_index=index)
        for index, (from_, to, amount) in enumerate(logs)
    )
    assert moved(transfers, MINE, Direction.IN) == (7, 0)
    assert moved(transfers, MINE, Direction.OUT) == (5, 1)
    assert moved(transfers, None, Direction.IN) is None
    assert moved(transfers, "0x" + "3" * 40, Direction.OUT) is None


def test_worked_numbers__of_a_life__are_the_models() -> None:
    page = (Path(__file__).parents[4] / "docs" / "transfers.md").read_text()
    lines = page.split("<!-- table: a worked life -->\n")[1].split("\n\n")[0].splitlines()[2:]
    assert len(lines) == 8
    balance = FourStates()
    for line in lines:
        report, amount, before, after, *states = [
            cell.strip() for cell in line.strip("|").split("|")
        ]
        was = State.FAILED if before == "-" else State(before)
        balance = balance.plus(
            move(Direction(report.split()[1]), usdc_e6_from_text(amount), was, State(after))
        )
        assert balance == FourStates(
            **dict(
                zip(
                    ("idle_e6", "reserved_e6", "in_transit_e6", "delivered_e6"),
                    map(usdc_e6_from_text, states),
                    strict=True,
                )
            )
        ), line
