"""When a vault may be asked for, and the moves of a request."""

from datetime import timedelta

import pytest

from core.errors import InvalidParameterError
from core.fund.rules.creation import (
    CreationState,
    CreationStateError,
    PerpVaultError,
    PilotTooYoungError,
    require_created_at,
    require_move,
    require_pilot,
)
from core.fund.rules.frozen import FundKind
from tests.each import each
from tests.unit.core.fund.made import AT

DAYS_30 = timedelta(days=30)
REQUESTED, APPROVED, CREATED, REJECTED = CreationState
ALLOWED = {
    (REQUESTED, APPROVED),
    (REQUESTED, REJECTED),
    (APPROVED, CREATED),
    (APPROVED, REJECTED),
}


def test_a_pilot_of_thirty_days__is_old_enough() -> None:
    require_pilot(FundKind.SPOT, AT, AT + DAYS_30)


def test_a_pilot_one_microsecond_younger__is_refused_until_then() -> None:
    with pytest.raises(PilotTooYoungError) as refused:
        require_pilot(FundKind.SPOT, AT, AT + DAYS_30 - timedelta(microseconds=1))
    assert refused.value.until == AT + DAYS_30


def test_a_perp_vault__is_refused_however_old() -> None:
    with pytest.raises(PerpVaultError):
        require_pilot(FundKind.PERP, AT, AT + 10 * DAYS_30)


@each("wanted", [APPROVED, CREATED, REJECTED])
@each("state", list(CreationState))
def test_a_move__is_one_of_the_table(state: CreationState, wanted: CreationState) -> None:
    if (state, wanted) in ALLOWED:
        require_move(state, wanted)
        return
    with pytest.raises(CreationStateError) as refused:
        require_move(state, wanted)
    assert refused.value.state is state


def test_the_zero_address__is_not_a_vault() -> None:
    with pytest.raises(InvalidParameterError):
        require_created_at(bytes(20))
    require_created_at(bytes(19) + b"\x01")
