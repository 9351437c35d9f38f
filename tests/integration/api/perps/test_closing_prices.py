"""Closing orders are ones that the venue takes, and what it says of a refusal is kept."""

from core.perps.rules.orders import cloid_of
from tests.integration.api.perps.legs import LegStage


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
