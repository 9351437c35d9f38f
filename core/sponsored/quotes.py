"""A quote that nobody handed in: what is said of it, and what it asked for. Pure.

    prepared --both signatures--> accepted (rules.STATES)
       |  \\--somebody submits an authorization that the buyer signed--> the pair of rules.STATES that is seen
       '--its time passes--> expired

Laws
- Of a quote with an authorization that was used or cancelled `prepared` is never said: it cannot be
  handed in any more, but for one whose fee alone was submitted, while it is good.
- A fee that was paid without a purchase is owed, handed in or not.
- Nothing is final while it is disputed.
Source: docs/sponsored-buys.md#states.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.sponsored.rules import (
    BPS,
    DISPUTED,
    LAPSED,
    NEXT_STEPS,
    AuthorizationState,
    BuyState,
    TransferFate,
    state_of,
)


@dataclass(frozen=True, slots=True)
class BuyStanding:
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
        "The fee was submitted alone and the quote expired before the buy was handed in. The "
        "purchase is yours to submit with your own gas, or to cancel at USDC; once it can no "
        "longer happen, the fee is owed to the buyer."
    ),
    (AuthorizationState.OPEN, AuthorizationState.DEAD): (
        "The fee's authorization was cancelled, so this quote cannot be handed in; prepare another."
    ),
    (AuthorizationState.DEAD, AuthorizationState.OPEN): (
        "The purchase's authorization was cancelled, so this quote cannot be handed in; prepare another."
    ),
    (AuthorizationState.DEAD, AuthorizationState.DEAD): (
        "Both authorizations are used up, so this quote cannot be handed in; prepare another."
    ),
}

_FEE_PAID_EARLY = (
    "The fee was submitted before the buy was handed in. Hand in both signatures before the quote "
    "expires, and the purchase is sent by itself; otherwise the fee is owed to the buyer."
)


def quote_standing(purchase: TransferFate, fee: TransferFate, *, is_over: bool) -> BuyStanding:
    """`is_over`: its time to be handed in has passed."""
    is_disputed = DISPUTED in (purchase.why, fee.why)
    if _is_untouched(purchase) and _is_untouched(fee):
        state = BuyState.EXPIRED if is_over else BuyState.PREPARED
        return BuyStanding(state, is_over and not is_disputed, NEXT_STEPS[state, is_over])
    state, is_final = state_of(purchase, fee)
    if state in (BuyState.DISPUTED, BuyState.FEE_OWED):
        return BuyStanding(state, is_final, NEXT_STEPS[state, is_final])
    is_early = state is BuyState.FEE_PAID and not is_over
    outcome = _FEE_PAID_EARLY if is_early else _ALONE[purchase.leg, fee.leg]
    return BuyStanding(state, is_final, outcome)


def _is_untouched(transfer: TransferFate) -> bool:
    """The record has no use of it."""
    is_unseen = transfer.leg is AuthorizationState.OPEN and transfer.tx_hash is None
    return is_unseen or transfer.why == LAPSED


def rise_bps(tokens: int, least: int) -> int:
    """The max_rise_bps that `rules.least_tokens_down` made `least` of; exact where `tokens` are more
    than 10,000 units, as those of five USDC are.
    """
    return (tokens - least) * BPS // tokens
