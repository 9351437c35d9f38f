"""The state of a fold, changed and stored: fields that there are not."""

import pytest

from core.mandate.rules.state import EMPTY_STATE, changed, state_from_json, state_to_json


def test_a_stored_state__of_other_fields__names_them_in_order() -> None:
    odd = {**state_to_json(EMPTY_STATE), "z": 1, "y": 1, "b": 1, "a": 1}
    with pytest.raises(KeyError, match=r"\['a', 'b', 'y', 'z'\]"):
        state_from_json(odd)


def test_a_change_of_fields_that_there_are_not__names_them_in_order() -> None:
    with pytest.raises(TypeError, match=r"\['a', 'b', 'y', 'z'\]"):
        changed(EMPTY_STATE, z=1, y=1, b=1, a=1)
