"""Attacks on a vault's figures, one story each: what a payment, a gift, a second purchase or an odd target
must not bend.
"""

from core.mandate.rules.ledger import MandateFacts
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.rules.unvalued import position_rules
from core.mandate.rules.worth import worth_of
from tests.unit.core.mandate.rules.ledgers import X402, executed, marked, paid, working

USD = 1_000_000
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
