"""The table of prices, held against the published figures."""

from core.credits.rules.prices import PAYOUT_POINT_PRICE, PRICES


def test_a_playbook_read__costs_1_credit_or_a_cent() -> None:
    read = PRICES["playbook_read"]
    assert (read.credits, read.usdc_e6, read.status) == (1, 10_000, "charging")


def test_the_tiers__cost_what_the_specification_says() -> None:
    assert [PRICES[f"subscription_tier_{tier}_month"].credits for tier in (1, 2)] == [
        10_000,
        25_000,
    ]


def test_a_point__pays_20_credits() -> None:
    assert PAYOUT_POINT_PRICE == 20
