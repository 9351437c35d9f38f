"""Amounts in what an agent reports."""

from typing import Any

from core.mandate.rules.positions import usable_usdc_e6
from tests.each import each

READ = {"1.5": 1_500_000, 2: 2_000_000, "x": None, 1.5: None, None: None, (1,): None}


@each("value", READ)
def test_an_amount__is_text_or_a_whole_number(value: Any) -> None:
    assert usable_usdc_e6(value) == READ[value]


def test_a_truth_value__is_no_amount() -> None:
    assert usable_usdc_e6(True) is None
