"""Whose record is shown with a row of the house."""

import pytest
from pydantic import ValidationError

from core.house import House
from tests.each import each


@each(
    ("house", "runner"),
    [
        (House(), 7),
        (House(house_agents=(7,)), 7),
        (House(house_agents=(7,), house_runner=8), 8),
        (House(house_agents=(7,), house_runner=8, record_runner=9), 9),
        (House(house_agents=(7,), record_runner=9), 9),
        (House(house_agents=(6,), house_runner=8, record_runner=9), 7),
    ],
)
def test_a_row_of_agent_7__shows_the_record_of(house: House, runner: int) -> None:
    assert house.runner_of(7) == runner


def test_house_agents__are_written_with_commas() -> None:
    assert House.model_validate({"house_agents": "7, 8,"}).house_agents == (7, 8)


@each("text", ["0", "-1", "x", "7;8", str(10**18)])
def test_what_is_no_user_id__is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        House.model_validate({"house_agents": text})
