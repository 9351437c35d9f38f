"""What is said of a quote that nobody handed in."""

import pytest

from core.sponsored.quotes import rise_bps, standing
from core.sponsored.rules import (
    LAPSED,
    MOST_RISE_BPS,
    AuthorizationState,
    BuyState,
    TransferFate,
    least_tokens_down,
)

OPEN = TransferFate(AuthorizationState.OPEN, is_final=False)
PAID = TransferFate(AuthorizationState.PAID, is_final=False, tx_hash="0x1")
GONE = TransferFate(AuthorizationState.DEAD, is_final=True, tx_hash="0x2", why="cancelled")
OVER = TransferFate(AuthorizationState.DEAD, is_final=True, why=LAPSED)


@pytest.mark.parametrize(
    ("purchase", "fee", "is_over", "state", "is_final"),
    [
        (OPEN, OPEN, False, BuyState.PREPARED, False),
        (OPEN, OPEN, True, BuyState.EXPIRED, True),
        (OVER, OVER, True, BuyState.EXPIRED, True),
        (PAID, OPEN, False, BuyState.BOUGHT, False),
        (PAID, OVER, True, BuyState.BOUGHT_WITHOUT_FEE, False),
        (PAID, PAID, True, BuyState.PAID, False),
        (OPEN, PAID, False, BuyState.FEE_PAID, False),
        (OPEN, GONE, False, BuyState.STOPPED, False),
        (GONE, OPEN, False, BuyState.STOPPED, False),
        (GONE, PAID, True, BuyState.STOPPED, False),
        (GONE, OVER, True, BuyState.NOTHING_PAID, True),
    ],
)
def test_a_quote__is_what_the_chain_says_of_it(
    purchase: TransferFate, fee: TransferFate, is_over: bool, state: BuyState, is_final: bool
) -> None:
    found = standing(purchase, fee, is_over=is_over)
    assert (found.state, found.is_final) == (state, is_final)


def test_a_quote__whose_fee_was_submitted_alone__promises_nothing() -> None:
    found = standing(OPEN, PAID, is_over=False)
    assert "sends nothing and owes nothing" in found.next


@pytest.mark.parametrize("tokens", [10_001, 480_677707976394441271, 10**30 + 7])
@pytest.mark.parametrize("rise", [0, 1, 50, 199, MOST_RISE_BPS])
def test_rise__is_what_was_asked_for(tokens: int, rise: int) -> None:
    assert rise_bps(tokens, least_tokens_down(tokens, rise)) == rise
