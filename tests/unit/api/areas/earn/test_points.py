"""Points are whole tenths; a tenth pays two credits."""

from api.areas.earn.rules.points import CREDITS_A_TENTH, TENTHS_A_POINT, credits_of, points_text
from core.credits.rules.prices import PAYOUT_POINT_PRICE
from tests.each import each


@each(
    ("tenths", "text", "in_credits"),
    [
        (0, "0.0", 0),
        (3, "0.3", 6),
        (5, "0.5", 10),
        (8, "0.8", 16),
        (30, "3.0", 60),
        (-30, "-3.0", -60),
        (-5, "-0.5", -10),
    ],
)
def test_points__as_text_and_in_credits(tenths: int, text: str, in_credits: int) -> None:
    assert (points_text(tenths), credits_of(tenths)) == (text, in_credits)


def test_a_point__pays_its_price_whole() -> None:
    assert CREDITS_A_TENTH * TENTHS_A_POINT == PAYOUT_POINT_PRICE
