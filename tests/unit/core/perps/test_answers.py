"""The venue's answers are hostile until parsed."""

from decimal import ROUND_FLOOR, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.perps.rules.answers import VenueAnswerError, reading_of, worth_usdc_e6
from core.perps.rules.leg import AccountReading, Degraded
from tests.each import each

OWNER, AGENT = "0x" + "aA" * 20, "0x" + "bb" * 20
OF_OWNER = {"role": "agent", "data": {"user": OWNER.lower()}}


def state(value: Any) -> dict[str, Any]:
    return {"marginSummary": {"accountValue": value, "totalNtlPos": "0.0"}}


def read(**changed: Any) -> AccountReading:
    answers: dict[str, Any] = {
        "owner_role": {"role": "user"},
        "mode": "default",
        "agent_role": OF_OWNER,
        "state": state("12.5"),
    }
    return reading_of(**(answers | changed), owner=OWNER)


@each(
    ("value", "worth"),
    [
        ("0.0", 0),
        ("1", 1_000_000),
        ("12.345678", 12_345_678),
        ("12.3456789", 12_345_678),
        ("-0.0000001", -1),
        ("1000000000000", 10**18),
    ],
)
def test_a_worth__is_rounded_down(value: str, worth: int) -> None:
    assert worth_usdc_e6(state(value)) == worth


@given(st.decimals(-(10**11), 10**11, allow_nan=False, places=9))
def test_a_worth__is_the_decimals_floor(value: Decimal) -> None:
    text = f"{value:f}"
    floor = (Decimal(text) * 10**6).to_integral_value(ROUND_FLOOR)
    assert worth_usdc_e6(state(text)) == int(floor)


@each(
    "value",
    [
        "NaN", "Infinity", "-Infinity", "1e6", "", " 1", "1 ", "+1", "1.", ".5", "0x10", "\u0661", "1" * 16,
        "1" * 5_000, "1000000000000.000001", "1." + "0" * 19, None, True, 1, 1.5, [], {},
    ],
)  # fmt: skip
def test_what_is_no_decimal__is_refused(value: Any) -> None:
    with pytest.raises(VenueAnswerError):
        worth_usdc_e6(state(value))


@each("answer", [None, [], "x", 1, {}, {"marginSummary": None}, {"marginSummary": {}}])
def test_an_answer_of_another_shape__is_refused(answer: Any) -> None:
    with pytest.raises(VenueAnswerError):
        worth_usdc_e6(answer)


def test_a_sound_account__has_a_worth_and_no_reason() -> None:
    assert read() == AccountReading(worth_usdc_e6=12_500_000, reason=None)  # type: ignore[arg-type]


@each(
    "agent_role",
    [
        {"role": "missing"},
        {"role": "user"},
        {"role": "agent", "data": {"user": "0x" + "cc" * 20}},
    ],
)
def test_an_agent_that_the_account_did_not_approve__is_a_lost_key(agent_role: Any) -> None:
    assert read(agent_role=agent_role).reason is Degraded.KEY_LOST


@each(
    "changed",
    [
        {"owner_role": {"role": "subAccount"}},
        {"owner_role": {"role": "vault"}},
        {"owner_role": {"role": "missing"}},
        {"mode": "unifiedAccount"},
        {"mode": "portfolioMargin"},
    ],
)
def test_an_account_of_another_mode__has_no_worth(changed: Any) -> None:
    assert read(**changed) == AccountReading(worth_usdc_e6=None, reason=Degraded.ACCOUNT_MODE)


@each(
    "changed",
    [
        {"owner_role": None},
        {"owner_role": {"role": 1}},
        {"mode": None},
        {"mode": {}},
        {"agent_role": {"role": "agent"}},
        {"agent_role": {"role": "agent", "data": {"user": 7}}},
        {"state": {"error": "Could not parse JSON"}},
    ],
)
def test_an_answer_that_is_not_documented__is_no_reading(changed: Any) -> None:
    with pytest.raises(VenueAnswerError):
        read(**changed)
