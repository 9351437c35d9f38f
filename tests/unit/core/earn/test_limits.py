"""Caps are the same whether nothing is set or nothing is said."""

from core.earn.limits import payout_limits
from core.earn.rules.payout import PayoutLimits
from core.limits import CallerLimits


def test_caps_by_default__are_those_of_the_settings() -> None:
    assert payout_limits(CallerLimits()) == PayoutLimits()
