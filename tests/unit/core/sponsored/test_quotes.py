"""What is said of a quote that nobody handed in."""

from core.sponsored.quotes import quote_standing, rise_bps
from core.sponsored.rules import (
    DISPUTED,
    LAPSED,
    MOST_RISE_BPS,
    AuthorizationState,
    BuyState,
    TransferFate,
    least_tokens_down,
)
from tests.each import each

OPEN = TransferFate(AuthorizationState.OPEN, is_final=False)
PAID = TransferFate(AuthorizationState.PAID, is_final=False, tx_hash="0x1")
GONE = TransferFate(AuthorizationState.DEAD, is_final=True, tx_hash="0x2", why="cancelled")
SURE = TransferFate(AuthorizationState.PAID, is_final=True, tx_hash="0x1")
DISPUTED_FEE = TransferFate(AuthorizationState.OPEN, is_final=False, tx_hash="0x3", why=DISPUTED)
DOUBTED = TransferFate(
    AuthorizationState.OPEN, is_final=False, why=DISPUTED
)  # the record has no use
OVER = TransferFate(AuthorizationState.DEAD, is_final=True, why=LAPSED)


@each(
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
        (GONE, PAID, True, BuyState.FEE_OWED, False),
        (GONE, SURE, True, BuyState.FEE_OWED, True),
        (OVER, SURE, True, BuyState.FEE_OWED, True),
        (GONE, OVER, True, BuyState.NOTHING_PAID, True),
        (PAID, DISPUTED_FEE, True, BuyState.DISPUTED, False),
        (DOUBTED, OVER, True, BuyState.EXPIRED, False),
        (DOUBTED, OPEN, False, BuyState.PREPARED, False),
    ],
)
def test_a_quote__is_what_the_chain_says_of_it(
    purchase: TransferFate, fee: TransferFate, is_over: bool, state: BuyState, is_final: bool
) -> None:
    found = quote_standing(purchase, fee, is_over=is_over)
    assert (found.state, found.is_final) == (state, is_final)


def test_a_quote__whose_fee_was_submitted_alone__asks_for_both_signatures_while_it_is_good() -> (
    None
):
    assert "Hand in both signatures" in quote_standing(OPEN, PAID, is_over=False).next
    late = quote_standing(OPEN, PAID, is_over=True).next
    assert "Hand in" not in late
    assert "the fee is owed" in late


def test_a_quote__whose_fee_alone_was_paid__lowers_the_next_buy() -> None:
    assert (
        "next sponsored buy costs that much less" in quote_standing(OVER, SURE, is_over=True).next
    )


@each("tokens", [10_001, 480_677707976394441271, 10**30 + 7])
@each("rise", [0, 1, 50, 199, MOST_RISE_BPS])
def test_rise__is_what_was_asked_for(tokens: int, rise: int) -> None:
    assert rise_bps(tokens, least_tokens_down(tokens, rise)) == rise
