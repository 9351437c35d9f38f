"""A quote that nobody handed in: what is said of it, and what it asked for. Pure.

    prepared --both signatures--> accepted (rules.STATES)
       |  \\--somebody submits an authorization that the buyer signed--> the pair of rules.STATES that is seen
       '--its time passes--> expired

Law: an authorization that was used or cancelled cannot be handed in any more, so `prepared` is
never said of such a quote.
Source: docs/sponsored-buys.md#states.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.sponsored.rules import (
    BPS,
    LAPSED,
    NEXT_STEPS,
    STATES,
    AuthorizationState,
    BuyState,
    TransferFate,
)


@dataclass(frozen=True, slots=True)
class QuoteStanding:
    """`is_final`: nothing of it changes any more."""

    state: BuyState
    is_final: bool
    next: str


# (purchase, fee) where either was submitted or cancelled before both signatures were handed in
_ALONE: Mapping[tuple[AuthorizationState, AuthorizationState], str] = {
    (AuthorizationState.PAID, AuthorizationState.OPEN): (
        "Nothing is left to hand in: the purchase was submitted alone and the tokens are there. The "
        "fee is not collected."
    ),
    (AuthorizationState.PAID, AuthorizationState.PAID): (
        "Nothing is left to hand in: both were submitted without the service, and the tokens are there."
    ),
    (AuthorizationState.PAID, AuthorizationState.DEAD): (
        "Nothing is left to hand in: the purchase was submitted alone and the tokens are there. No fee "
        "is taken."
    ),
    (AuthorizationState.OPEN, AuthorizationState.PAID): (
        "The fee was submitted alone before the buy was handed in, so the service sends nothing and "
        "owes nothing for it. The purchase is yours to submit with your own gas, or to cancel at USDC; "
        "for another sponsored buy prepare one."
    ),
    (AuthorizationState.OPEN, AuthorizationState.DEAD): (
        "The fee's authorization was cancelled, so this quote cannot be handed in; prepare another."
    ),
    (AuthorizationState.DEAD, AuthorizationState.OPEN): (
        "The purchase's authorization was cancelled, so this quote cannot be handed in; prepare another."
    ),
    (AuthorizationState.DEAD, AuthorizationState.PAID): (
        "The fee was submitted alone before the buy was handed in, and the purchase cannot happen. The "
        "service sends nothing and owes nothing for it; prepare another."
    ),
    (AuthorizationState.DEAD, AuthorizationState.DEAD): (
        "Both authorizations are used up, so this quote cannot be handed in; prepare another."
    ),
}


def standing(purchase: TransferFate, fee: TransferFate, *, is_over: bool) -> QuoteStanding:
    """`is_over`: its time to be handed in has passed.

    `fee_owed` is of buys that were handed in: without a purchase such a quote is `stopped`.
    """
    if _is_untouched(purchase) and _is_untouched(fee):
        state = BuyState.EXPIRED if is_over else BuyState.PREPARED
        return QuoteStanding(state, is_over, NEXT_STEPS[state, is_over])
    pair = (purchase.leg, fee.leg)
    state = STATES[pair]
    if state is BuyState.FEE_OWED:
        state = BuyState.STOPPED
    return QuoteStanding(state, purchase.is_final and fee.is_final, _ALONE[pair])


def _is_untouched(transfer: TransferFate) -> bool:
    return transfer.leg is AuthorizationState.OPEN or transfer.why == LAPSED


def rise_bps(tokens: int, least: int) -> int:
    """The max_rise_bps that `rules.least_tokens_down` made `least` of; exact where `tokens` are more
    than 10,000 units, as those of five USDC are.
    """
    return (tokens - least) * BPS // tokens
