"""When a vault may be asked for, and the moves of a request."""

import pytest

from core.fund.rules.creation import (
    CreationState,
    CreationStateError,
    require_move,
)
from tests.each import each

REQUESTED, APPROVED, CREATED, REJECTED = CreationState
ALLOWED = {
    (REQUESTED, APPROVED),
    (REQUESTED, REJECTED),
    (APPROVED, CREATED),
    (APPROVED, REJECTED),
}


@each("wanted", [APPROVED, CREATED, REJECTED])
@each("state", list(CreationState))
def test_a_move__is_one_of_the_table(state: CreationState, wanted: CreationState) -> None:
    if (state, wanted) in ALLOWED:
        require_move(state, wanted)
        return
    with pytest.raises(CreationStateError) as refused:
        require_move(state, wanted)
    assert refused.value.state is state
