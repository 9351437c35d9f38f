"""Money out where no adapter values it: the vault's counter in the model and in the fold, and what
a read says of it.
"""

from dataclasses import replace
from typing import Any

from core.mandate.rules.lifecycle import MarketMode, VaultStatus
from core.mandate.rules.limits import Effect, ProposedCall, VaultModel, after_call
from core.mandate.rules.progress import ProgressFacts, progress_block
from core.mandate.rules.state import (
    MandateFacts,
    WentOut,
    position_rules,
    unvalued_out_after,
    unvalued_out_after_proceeds,
    went_out_after,
)
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.money import usdc_e6_from_text
from tests.each import each
from tests.unit.core.mandate.rules.ledgers import (
    AGENT,
    PAPER,
    START,
    VAULT,
    VENUE,
    X402,
    SampleLedger,
    e6,
    executed,
    stopped,
    terms,
    unwound,
    working,
)
from tests.unit.core.mandate.rules.worked import table

BUY, SELL = "0xd96a094a", "0xe4849b32"
A, B, C = (
    VENUE,
    "0x00000000000000000000000000000000000000C3",
    "0x00000000000000000000000000000000000000c4",
)
AT = int(START.timestamp())


def rule(target: str, selector: str, kind: RuleKind) -> Rule:
    return Rule(target, selector, UNPINNED, kind)


RULES = (
    rule(A, BUY, RuleKind.VALUED),
    rule(A, SELL, RuleKind.EXIT),
    rule(B, BUY, RuleKind.SPEND),
    rule(B, SELL, RuleKind.EXIT),
    rule(C, BUY, RuleKind.SPEND),
    rule(C, SELL, RuleKind.EXIT),
    rule(X402, BUY, RuleKind.COST),
)
FACTS = MandateFacts(
    market_mode=MarketMode.TESTNET, budget_usdc_e6=1_000_000_000, positions=position_rules(RULES)
)
MODEL = VaultModel(
    address=VAULT,
    status=VaultStatus.WORKING,
    agent=AGENT,
    budget=e6("1000"),
    deposited=e6("1000"),
    per_tx_cap=e6("1000"),
    daily_cap=e6("1000"),
    ends_at=AT + 86_400,
    rules=RULES,
)


def moved(
    ledger: SampleLedger, spent: str, received: str, target: str, selector: str = BUY
) -> None:
    ledger.chain(replace(executed(spent, received, target=target), selector=selector))


def public_stop(ledger: SampleLedger, now: int = AT) -> dict[str, Any]:
    about = ProgressFacts(facts=ledger.facts, terms=terms(), spread_bps=50, now=now)
    shown: dict[str, Any] = progress_block(ledger.state, about)["public_stop"]
    return shown


# Which functions count


def test_position_rules__spends_and_exits_of_targets_that_no_rule_values() -> None:
    assert position_rules(RULES).unvalued == {
        (target.lower(), selector) for target in (B, C) for selector in (BUY, SELL)
    }


def test_position_rules__adapters_that_a_rule_values() -> None:
    assert position_rules(RULES).valued == {A.lower()}


@each(("brought", "out"), [(0, 7), (6, 1), (7, 0), (8, 0)])
def test_proceeds__of_an_adapter_that_values_nothing_here__lower_what_is_out(
    brought: int, out: int
) -> None:
    assert unvalued_out_after_proceeds(7, FACTS.positions, C.upper(), brought) == out


def test_proceeds__of_an_adapter_that_values_positions__leave_what_is_out() -> None:
    assert unvalued_out_after_proceeds(7, FACTS.positions, A, 7) == 7


def test_unvalued_out__of_a_function_that_no_rule_counts__stays() -> None:
    assert unvalued_out_after(7, FACTS.positions, A, BUY, spent_usdc_e6=5, received_usdc_e6=0) == 7
    assert (
        unvalued_out_after(7, FACTS.positions, X402, BUY, spent_usdc_e6=5, received_usdc_e6=0) == 7
    )


@each(("spent", "received", "out"), [(5, 0, 12), (5, 4, 8), (0, 7, 0), (0, 8, 0), (5, 12, 0)])
def test_unvalued_out__is_what_went_less_what_came_and_never_below_zero(
    spent: int, received: int, out: int
) -> None:
    assert (
        unvalued_out_after(
            7,
            FACTS.positions,
            B.lower(),
            BUY.upper(),
            spent_usdc_e6=spent,
            received_usdc_e6=received,
        )
        == out
    )


# The worked page, by the model and by the fold


STEPS = (
    (A, BUY, "100", "0"),
    (B, BUY, "60", "0"),
    (C, BUY, "40", "0"),
    (B, SELL, "0", "50"),
    (C, SELL, "0", "55"),
    (B, BUY, "80", "80"),
)


def test_worked_numbers__of_money_unvalued__are_the_models_and_the_folds() -> None:
    rows = table("limits.md", "money unvalued")
    assert len(rows) == len(STEPS)
    vault, ledger, at_a = MODEL, working(FACTS), e6("100")
    for (target, selector, spent, received), (words, cash, out, worth) in zip(
        STEPS, rows, strict=True
    ):
        assert (spent if spent != "0" else received) in words
        taken, income = usdc_e6_from_text(spent), usdc_e6_from_text(received)
        call = ProposedCall(target, taken, bytes.fromhex(selector[2:]))
        after = after_call(vault, AGENT, [call], [Effect(taken, income - taken)], AT)
        assert isinstance(after, VaultModel), words
        vault = after
        moved(ledger, spent, received, target, selector)
        assert (vault.cash, vault.unvalued_out) == (e6(cash), e6(out)), words
        assert (ledger.state.cash_usdc_e6, ledger.state.unvalued_out_usdc_e6) == (
            e6(cash),
            e6(out),
        ), words
        assert vault.cash + at_a + vault.unvalued_out == e6(worth), words


def test_fold__an_unwind_brings_it_home() -> None:
    ledger = working(FACTS)
    moved(ledger, "60", "0", B)
    ledger.chain(replace(unwound("45"), target=B))
    assert ledger.state.unvalued_out_usdc_e6 == e6("15")


def test_fold__a_reversed_row__never_went_out() -> None:
    ledger = working(FACTS)
    ledger.reverse(ledger.chain(executed("60", target=B)))
    assert ledger.state.unvalued_out_usdc_e6 == 0


# When money went out


def outings(*steps: tuple[str, int]) -> list[int]:
    """What was out at each row by which money went out; `steps`: block hash and what is out after
    the row.
    """
    ledger, before = working(FACTS), 0
    went: tuple[WentOut, ...] = ()
    for block_hash, out in steps:
        row = replace(ledger.chain(executed("1")), block_hash=block_hash)
        went = went_out_after(went, row, before_usdc_e6=before, out_usdc_e6=out)
        before = out
    return [one.out_usdc_e6 for one in went]


def test_went_out__from_none_to_some__is_once_until_all_is_back() -> None:
    assert outings(("a", 5), ("b", 9), ("c", 3)) == [5]
    assert outings(("a", 5), ("b", 0), ("c", 3)) == [5, 3]


def test_went_out__and_back_within_the_block__never_was() -> None:
    assert outings(("a", 5), ("a", 0)) == []
    assert outings(("a", 5), ("a", 0), ("a", 2)) == [2]
    assert outings(("a", 5), ("b", 0)) == [5]


# What a read says


def test_public_stop__on_with_nothing_out() -> None:
    assert public_stop(working(FACTS)) == {"on": True, "reason": None, "at_cost_usdc": "0.000000"}


def test_public_stop__names_what_counts_at_cost() -> None:
    ledger = working(FACTS)
    moved(ledger, "60", "0", B)
    assert public_stop(ledger) == {"on": True, "reason": None, "at_cost_usdc": "60.000000"}


def test_public_stop__from_the_end_on__is_nobodys() -> None:
    ledger, ends_at = working(FACTS), terms().ends_at
    assert public_stop(ledger, ends_at - 1)["on"] is True
    assert public_stop(ledger, ends_at) == {
        "on": None,
        "reason": "mandate_ended",
        "at_cost_usdc": "0.000000",
    }


def test_public_stop__of_a_stopped_mandate__still_says_what_is_out() -> None:
    ledger = working(FACTS)
    moved(ledger, "60", "0", B)
    ledger.chain(stopped())
    assert public_stop(ledger) == {
        "on": None,
        "reason": "mandate_not_working",
        "at_cost_usdc": "60.000000",
    }


def test_public_stop__on_paper__has_no_vault_and_no_figure() -> None:
    assert public_stop(working(PAPER)) == {"on": None, "reason": "no_vault", "at_cost_usdc": None}
