"""Money between text and base units: exact both ways, and refused when it could not be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidNumberError
from core.money import (
    MAX_ABS_USDC_E6,
    bps_of_down,
    eth_text,
    usdc_e6_from_text,
    usdc_text,
    usdc_text_or_none,
)
from tests.each import each


@each(
    ("text", "amount"),
    [
        ("0", 0),
        ("-0", 0),
        ("12.5", 12_500_000),
        ("12.500000", 12_500_000),
        ("0.000001", 1),
        ("-3.25", -3_250_000),
        ("007", 7_000_000),
        ("0000000000012", 12_000_000),
        ("0999999999999.999999", MAX_ABS_USDC_E6 - 1),
        ("1000000000000", MAX_ABS_USDC_E6),
        ("-1000000000000.000000", -MAX_ABS_USDC_E6),
    ],
)
def test_amount__as_written__is_read_exactly(text: str, amount: int) -> None:
    assert usdc_e6_from_text(text) == amount


@each(
    "text",
    [
        "",
        "-",
        "+1",
        ".5",
        "1.",
        "1e3",
        "1.0000001",
        "1,000",
        " 1",
        "1\n",
        "NaN",
        "inf",
        "0x10",
        "\u0661",
        "12345678901234",
        "1_000",
    ],
)
def test_amount__in_another_form__is_refused(text: str) -> None:
    with pytest.raises(InvalidNumberError):
        usdc_e6_from_text(text)


def test_amount__one_base_unit_above_the_bound__is_refused() -> None:
    with pytest.raises(InvalidNumberError) as refused:
        usdc_e6_from_text("1000000000000.000001", "budget_usdc")
    assert refused.value.field == "budget_usdc"
    assert refused.value.got == "1000000000000.000001"


@given(st.integers(-MAX_ABS_USDC_E6, MAX_ABS_USDC_E6))
def test_amount__written_and_read__is_the_same(amount: int) -> None:
    assert usdc_e6_from_text(usdc_text(amount)) == amount


def test_unknown__written__stays_unknown() -> None:
    assert usdc_text_or_none(None) is None
    assert usdc_text_or_none(0) == "0.000000"


@given(st.integers(0, MAX_ABS_USDC_E6), st.integers(0, 10_000))
def test_bps_of_down__is_the_largest_share_not_above_the_exact_one(amount: int, bps: int) -> None:
    share = bps_of_down(amount, bps)
    assert share * 10_000 <= amount * bps < (share + 1) * 10_000


@each(
    ("wei", "text"),
    [
        (0, "0.000000"),
        (1, "0.000001"),
        (10**12, "0.000001"),
        (10**12 + 1, "0.000002"),
        (10**18 - 1, "1.000000"),
        (9 * 10**15, "0.009000"),
    ],
)
def test_ether__is_written_with_six_decimals_and_rounded_up(wei: int, text: str) -> None:
    assert eth_text(wei) == text
