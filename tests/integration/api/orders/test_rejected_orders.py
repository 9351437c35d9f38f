"""Orders that the venue rejected: they are not sent again, and count until nothing can become of them
(docs/operator-orders.md#never-twice).
"""

from decimal import Decimal
from typing import Any

from tests.hl_exchange import NO_MATCH
from tests.integration.api.conftest import reason
from tests.integration.api.orders.test_operator_orders import (
    ACCOUNT,
    Trader,
    deps,  # noqa: F401 (a fixture)
    desk,  # noqa: F401 (a fixture)
    exchange,  # noqa: F401 (a fixture)
    served,  # noqa: F401 (a fixture)
    trader,  # noqa: F401 (a fixture)
    venue,  # noqa: F401 (a fixture)
)

MARGIN = "Insufficient margin to place order."


def rejected(trader: Trader) -> dict[str, Any]:
    """An order of 606 USDC at most, which the venue rejected for what is mended meanwhile."""
    trader.exchange.refuses = MARGIN
    made = trader.prepared()
    done = trader.execute(made).json()
    assert (done["status"], done["venue_words"]) == ("rejected", MARGIN)
    trader.exchange.refuses = None
    return made


def left(trader: Trader) -> str:
    """What the day leaves, by the refusal of a larger order."""
    over = trader.prepare(type="limit", limit_px="50000", size="0.02").json()["service"]
    return str(over["remaining"])


def test_an_order_that_the_venue_rejects__is_rejected_and_not_sent_again(trader: Trader) -> None:
    made = rejected(trader)
    again = trader.execute(made).json()
    assert (again["status"], again["venue_words"]) == ("rejected", MARGIN)
    assert (trader.venue.relayed, trader.held) == (1, {})
    trader.clock.pass_(seconds=90)
    sure = trader.execute(made).json()
    assert (sure["status"], sure["note"]) == (
        "rejected",
        "The venue rejected the order; nothing was filled, and nothing can be filled later.",
    )
    recorded = trader.record(made, "rejected").json()
    assert (recorded["reported"], recorded["venue_words"]) == ("rejected", MARGIN)
    assert trader.venue.relayed == 1


def test_a_rejection_that_is_looked_up_later__keeps_the_venues_first_words(trader: Trader) -> None:
    """The venue has a short name of its own for it: iocCancelRejected."""
    made = trader.prepared()
    trader.exchange.liquidity = Decimal(0)
    assert trader.execute(made).json()["venue_words"] == NO_MATCH
    trader.clock.pass_(seconds=90)
    sure = trader.execute(made).json()
    assert (sure["status"], sure["venue_words"]) == ("rejected", NO_MATCH)


def test_a_rejected_order_that_its_signer_sends_again__is_accepted_and_counts(
    trader: Trader,
) -> None:
    made = rejected(trader)
    trader.exchange.take(
        {"a": 0, "b": True, "p": "60600", "s": "0.01", "r": False, "c": made["confirm_id"],
         "t": {"limit": {"tif": "Ioc"}}},
        ACCOUNT.lower(),
    )  # fmt: skip
    trader.clock.pass_(seconds=90)
    trader.prepared()
    assert left(trader) == "288.000000"  # 1,500 less twice 606: nobody asked what became of it
    done = trader.execute(made).json()
    assert (done["status"], done["filled_size"], done["venue_words"], trader.held) == (
        "accepted", "0.01", None, {"BTC": "0.01"},
    )  # fmt: skip
    assert left(trader) == "288.000000"
    assert trader.record(made, "accepted").json()["reported"] == "accepted"


def test_a_rejection__is_recorded_when_it_is_sure_and_frees_the_day(trader: Trader) -> None:
    made = rejected(trader)
    assert reason(trader.record(made, "rejected")) == (409, "order_unsettled")
    trader.clock.pass_(seconds=90)
    over = trader.prepare(type="limit", limit_px="50000", size="0.02").json()["service"]
    assert over["remaining"] == "894.000000"
    assert over["next"][0]["body"] == {"confirm_id": made["confirm_id"], "outcome": "rejected"}
    assert trader.post("/record", over["next"][0]["body"]).json()["status"] == "rejected"
    assert trader.prepare(type="limit", limit_px="50000", size="0.02").status_code == 201
