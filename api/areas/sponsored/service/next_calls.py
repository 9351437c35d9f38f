"""The calls that a refused sponsored buy goes on with, each as it can be sent."""

from collections.abc import Mapping
from typing import Any

from api.areas.sponsored.schemas import PrepareBuy
from api.kernel.operation import NextCall
from core.money import UsdcE6, usdc_text
from core.sponsored.quotes import rise_bps
from core.sponsored.tables import SponsoredBuy

OWN_BUYS = NextCall("reserve.me")  # lists those that were handed in
OWN_GAS = NextCall("reserve.config")  # the contracts for a purchase with the wallet's own gas


def asked_again(
    asked: PrepareBuy,
    *,
    usd: UsdcE6 | None = None,
    buyer: str | None = None,
    recipient: str | None = None,
) -> NextCall:
    """The same quote, but for what is named."""
    body: dict[str, Any] = {
        "usd": usdc_text(asked.usd if usd is None else usd),
        "buyer": buyer or asked.buyer,
        "max_rise_bps": asked.max_rise_bps,
    }
    to = recipient or asked.recipient
    return _prepare(body if to is None else body | {"recipient": to})


def quoted_again(buy: SponsoredBuy, *, usd: UsdcE6 | None = None) -> NextCall:
    """Another quote for what this one was for."""
    return _prepare(
        {
            "usd": usdc_text(buy.amount_usdc_e6 if usd is None else usd),
            "buyer": buy.buyer,
            "recipient": buy.recipient,
            "max_rise_bps": rise_bps(buy.tokens, buy.min_tokens),
        }
    )


def first_quote(buyer: str, usd: UsdcE6) -> NextCall:
    return _prepare({"usd": usdc_text(usd), "buyer": buyer})


def state_of_buy(buy: SponsoredBuy) -> NextCall:
    return NextCall("sponsored.read", {"id": buy.id})


def _prepare(body: Mapping[str, Any]) -> NextCall:
    return NextCall("sponsored.prepare", body=body)
