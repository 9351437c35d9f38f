"""What may be pledged."""

import pytest
from api.areas.pledges.rules import MOST_USDC_E6, require_amount

from core.errors import InvalidNumberError
from core.money import UsdcE6


def test_the_most__is_taken() -> None:
    require_amount(MOST_USDC_E6)


def test_above_the_most__is_refused() -> None:
    with pytest.raises(InvalidNumberError, match="at most 1000"):
        require_amount(UsdcE6(MOST_USDC_E6 + 1))
