"""Attacks on a vault's figures, one story each: what a payment, a gift, a second purchase or an odd target
must not bend.
"""

from core.mandate.rules.ledger import MandateFacts
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.rules.unvalued import position_rules
from core.mandate.rules.worth import worth_of
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import X402, executed, marked, paid, working
from tests.unit.core.mandate.rules.test_open_positions import FACTS, USD, A, B, call
from tests.unit.core.mandate.rules.test_surfaces import Surfaces, check

TOOLS_ONLY = MandateFacts(
    market_mode=MarketMode.TESTNET,
    budget_usdc_e6=1_000 * USD,
    positions=position_rules([Rule(X402, "0xd96a094a", 255, RuleKind.COST)]),
)


def test_a_payment_after_a_mark__of_a_mandate_for_tools_alone__is_gone() -> None:
    ledger = working(TOOLS_ONLY)
    ledger.chain(marked("1000"))
    ledger.chain(paid("5"), 50)
    ledger.chain(executed("5", target=X402), 50)
    assert worth_of(ledger.state, TOOLS_ONLY).worth_usdc_e6 == 995 * USD


@each("is_marked", [True, False])
def test_a_purchase_after_a_gain__costs_what_it_cost(is_marked: bool) -> None:
    """Once the gain of the first round trip hid the cost of the next, and a purchase lowered the realised
    result.
    """
    ledger = working(FACTS)
    for number, (spent, received) in enumerate([(100, 0), (0, 150), (20, 0)]):
        ledger.chain(call(A, spent * USD, received * USD, number))
        if is_marked:
            ledger.chain(marked("1000" if number == 0 else "1050"))
        check(Surfaces(ledger, ledger.state, 1_000), has_gifts=False)
    state = ledger.state
    assert (state.out_cost_usdc_e6, state.realized_usdc_e6) == (20 * USD, 50 * USD)


def test_a_sale_above_all_marks__leaves_what_the_others_cost() -> None:
    """Until the next mark only: nobody knows what is left before it."""
    ledger = working(FACTS)
    ledger.chain(call(A, 10 * USD, 0, 0))
    ledger.chain(call(B, 20 * USD, 0, 1))
    ledger.chain(marked("1000"))
    ledger.chain(call(A, 0, 25 * USD, 2))
    assert ledger.state.out_cost_usdc_e6 == 20 * USD
    check(Surfaces(ledger, ledger.state, 1_000), has_gifts=False)
