"""Caps are the same whether nothing is set or nothing is said."""

from dataclasses import replace

from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.views.limits import payout_limits
from core.limits import CallerLimits
from core.public_accounts import PUBLIC_ACCOUNTS

WALLET = "0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B"


def test_caps_by_default__are_those_of_the_settings() -> None:
    assert replace(payout_limits(CallerLimits()), shared_funders=frozenset()) == PayoutLimits()


def test_shared_funders__are_the_settings_and_wallets_whose_keys_everybody_has() -> None:
    limits = CallerLimits.model_validate({"shared_funders": f"{WALLET.lower()}, "})
    assert payout_limits(limits).shared_funders == {
        one.lower() for one in (WALLET, *PUBLIC_ACCOUNTS)
    }
