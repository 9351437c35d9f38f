"""Attacks on a vault's figures, one story each: what a payment, a gift, a second purchase or an odd target
must not bend.
"""

from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.positions import open_positions
from core.mandate.rules.rows import RowKind
from core.mandate.rules.state import MandateFacts, position_rules
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.rules.worth import worth_of
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    OWNER,
    STRANGER,
    VAULT,
    X402,
    SampleLedger,
    executed,
    marked,
    paid,
    stopped,
    withdrawn,
    working,
)
from tests.unit.core.mandate.rules.test_open_positions import FACTS, USD, A, B, C, call
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


def test_what_never_came_home__is_at_cost_on_no_surface() -> None:
    ledger = working(FACTS)
    ledger.chain(call(C, 50 * USD, 0, 0))
    ledger.chain(marked("1000", "50"))
    ledger.chain(stopped(OWNER, "owner"))
    ledger.chain(withdrawn("950"))
    read = Surfaces(ledger, ledger.state, 0).read
    assert (read["at_cost"], read["public_stop"]["at_cost_usdc"]) == ("0.000000", "0.000000")
    assert read["not_returned"] == "50.000000"


def test_a_stop_at_the_line_by_anybody__is_worth_what_the_vault_measured() -> None:
    """No mark follows it: the record said 1,000 of a vault that had stopped at 774.99."""
    ledger = working(FACTS)
    for number in range(3):
        ledger.chain(call(A, 90 * USD, 0, number))
    ledger.chain(marked("1000"))
    ledger.chain(stopped(STRANGER, "stop_line", "774.99"))
    read = Surfaces(ledger, ledger.state, 0).read
    assert (read["worth_est"], read["worth_source"]) == ("774.990000", "chain_mark")
    ledger.chain(stopped(OWNER, "owner", "1"))
    assert Surfaces(ledger, ledger.state, 0).read["worth_est"] == "774.990000"


def test_a_position_that_somebody_else_paid_for__is_listed_with_its_worth() -> None:
    ledger = working(FACTS)
    ledger.chain(call(C, 10 * USD, 0, 0))
    ledger.chain(marked("1007", "10"))
    check(Surfaces(ledger, ledger.state, 1_000), has_gifts=True)
    listed = Surfaces(ledger, ledger.state, 1_000).read["positions"]
    assert [(one["id"], one["cost_usdc"], one["worth_est"]) for one in listed] == [
        (C, "10.000000", "10.000000"),
        ("adapters", "0.000000", "7.000000"),
    ]


@each(
    "target, own", [(A, B), (A, STRANGER), (VAULT, A), (VAULT, None), (None, A), (A.lower(), None)]
)
def test_a_report_that_the_chain_bears_out__names_the_money_of_its_call(
    target: str | None, own: str | None
) -> None:
    """Not money elsewhere, by the position's own target; nor nothing, by the vault as the target."""
    ledger = working(FACTS)
    ledger.chain(call(A, 60 * USD, 0, 0), 60)
    ledger.chain(call(B, 50 * USD, 0, 1), 61)
    said = {"target": target, "position": {"id": "p1", "target": own}}
    ledger.report(RowKind.BUY, "60", 60, said)
    listed = [
        (one.target, one.reported and one.reported.id) for one in open_positions(ledger.state)
    ]
    assert listed == [(A, "p1"), (B, None)]


def test_reports_before_there_is_a_vault__realise_nothing() -> None:
    ledger = SampleLedger(FACTS)
    ledger.sign()
    ledger.report(RowKind.RESOLVE, "5000")
    ledger.report(RowKind.FEE, "700", payload={"fee_kind": "venue"})
    assert Surfaces(ledger, ledger.state, 1_000).read["realized"] == "0.000000"
