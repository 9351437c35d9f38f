"""Closing orders are ones that the venue takes, and what it says of a refusal is kept."""

import pytest

from core.perps.rules.orders import cloid_of
from tests.integration.api.perps.legs import LegStage


@pytest.mark.parametrize(
    ("coin", "size", "limit"),
    [
        ("SOL", "-2", "100.98"),  # of 99.99: the limit has a figure more before the point
        ("XRP", "-30", "1.0011"),
        ("ATOM", "-0.9", "9.9752"),  # 8.98 USDC: the whole, below the venue's minimum
        ("SOL", "2", "98.991"),
    ],
)
def test_a_closing_order__is_one_that_the_venue_takes(
    leg: LegStage, coin: str, size: str, limit: str
) -> None:
    leg.holds(**{coin: size})
    leg.stop()
    assert leg.run()["over"] == 1
    assert [one["p"] for one in leg.exchange.orders] == [limit]


def test_what_the_venue_says_of_a_refusal__is_in_the_record(leg: LegStage) -> None:
    leg.holds(BTC="0.5")
    leg.exchange.refuses = "Order has zero size.\u202e"
    leg.stop()
    leg.run()
    assert leg.rows[1][1] == {
        "seq": 1,
        "status": "rejected",
        "cloid": cloid_of(leg.mandate_id, 1),
        "venue_words": r"Order has zero size.\u202e",
    }
    assert leg.stage.faults(leg.mandate_id) == []


def test_a_price_within_the_allowance_that_the_venue_does_not_have__sends_nothing(
    leg: LegStage,
) -> None:
    """The least step of BTC is 0.1: a purchase at 0.05 and 1 % has no price. It is tried again."""
    leg.holds(BTC="-0.5")
    leg.exchange.mids["BTC"] = "0.05"
    leg.stop()
    leg.run()
    assert leg.words == [("stop_line", "pending")]
    leg.exchange.mids["BTC"] = "60000.0"
    leg.later(30).run()
    assert leg.words[-1] == ("stop_line", "closed")
