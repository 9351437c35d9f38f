"""Adapters whose publications have a fault: left out of the default, refused by name, and no
trouble to anybody else.
"""

from typing import Any

import pytest

from core.errors import InvalidParameterError
from core.mandate.rules.expansion import (
    PERMIT2,
    ListedContracts,
    default_targets,
    expand_rules,
    rules_fault,
)
from core.mandate.rules.targets import ContractTarget, parse_targets
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from tests.each import each

CHAIN = 84_532
GOOD = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
BAD = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
X402 = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"

BUY = Rule(GOOD, "0xd96a094a", UNPINNED, RuleKind.VALUED)
PAY = Rule(X402, "0x1f7d00cf", UNPINNED, RuleKind.COST)


def rule(selector: int, kind: RuleKind = RuleKind.SPEND, target: str = BAD) -> Rule:
    return Rule(target, f"0x{selector:08x}", UNPINNED, kind)


def listed(*published: Rule, at: str = BAD) -> ListedContracts:
    return ListedContracts(
        CHAIN, {GOOD: (BUY,), X402: (PAY,), at: published}, {USDC: "USDC"}, X402, {}
    )


def rules_of(items: Any, contracts: ListedContracts) -> tuple[Rule, ...]:
    return expand_rules(
        default_targets(contracts) if items is None else parse_targets(items, CHAIN), contracts
    )


FAULTS: dict[str, tuple[tuple[Rule, ...], str]] = {
    "none at all": ((), "publishes 0 functions; 1 to 32 are possible"),
    "more than 32": (
        tuple(rule(n) for n in range(33)),
        "publishes 33 functions; 1 to 32 are possible",
    ),
    "another's": ((rule(1), rule(2, target=GOOD)), "publishes functions of another contract"),
    "unsorted": ((rule(2), rule(1)), "publishes its functions out of order or twice"),
    "twice the same": ((rule(1), rule(1)), "publishes its functions out of order or twice"),
    "twice, of two kinds": (
        (rule(1), rule(1, RuleKind.EXIT)),
        "publishes its functions out of order or twice",
    ),
    "payments among others": (
        (rule(1), rule(2, RuleKind.COST)),
        "mixes payments with other functions",
    ),
    "spends, values nothing": (
        (rule(1), rule(2, RuleKind.EXIT)),
        (
            "publishes a function that spends but none of kind VALUED, so it would value "
            "nothing that is spent there"
        ),
    ),
    "payments": ((rule(1, RuleKind.COST),), "publishes payments, which only the x402 adapter may"),
}


@each("name", FAULTS)
def test_adapter_with_a_fault__is_left_out_of_the_default(name: str) -> None:
    assert sorted(rules_of(None, listed(*FAULTS[name][0])), key=lambda one: one.target) == [
        BUY,
        PAY,
    ]


@each("name", FAULTS)
def test_adapter_with_a_fault__named__is_refused_with_the_fault(name: str) -> None:
    published, fault = FAULTS[name]
    with pytest.raises(InvalidParameterError) as refused:
        rules_of([{"kind": "mandate_vault"}, BAD], listed(*published))
    assert (refused.value.field, refused.value.rule) == (
        "allowed_targets[1]",
        f"this adapter {fault}; leave it out",
    )


def test_adapter_with_a_fault__is_not_taken_as_a_plain_contract_either() -> None:
    item = {"address": BAD, "functions": [{"signature": "f(address)", "recipient_word": 0}]}
    with pytest.raises(InvalidParameterError, match="leave it out"):
        rules_of([item], listed())


@each("name", FAULTS)
def test_adapter_with_a_fault__does_not_touch_a_draft_that_names_another(name: str) -> None:
    assert rules_of([GOOD], listed(*FAULTS[name][0])) == (BUY,)


def test_thirty_two_functions__are_no_fault() -> None:
    assert rules_fault(BAD, [rule(n, RuleKind.VALUED) for n in range(32)]) is None


@each(
    "kinds", [(RuleKind.SPEND, RuleKind.VALUED), (RuleKind.VALUED, RuleKind.EXIT), (RuleKind.EXIT,)]
)
def test_adapter_that_values_what_is_spent_at_it__has_no_fault(kinds: tuple[RuleKind, ...]) -> None:
    assert rules_fault(BAD, [rule(n, kind) for n, kind in enumerate(kinds)]) is None


def test_listed_usdc__stays_no_target_by_default() -> None:
    assert rules_of([{"kind": "mandate_vault"}], listed(rule(1, target=USDC), at=USDC)) == (BUY,)


def test_listed_permit2__stays_no_target_by_default() -> None:
    assert rules_of([{"kind": "mandate_vault"}], listed(rule(1, target=PERMIT2), at=PERMIT2)) == (
        BUY,
    )


# Payments


def test_x402_entry__never_brings_the_payments_of_another_adapter() -> None:
    assert rules_of([{"kind": "x402"}], listed(rule(1, RuleKind.COST))) == (PAY,)


NO_TILL = {
    "it publishes other rules": listed(rule(1, RuleKind.VALUED, X402), at=X402),
    "there is none, and another takes payments": ListedContracts(
        CHAIN, {GOOD: (BUY,), BAD: (rule(1, RuleKind.COST),)}, {}, None, {}
    ),
}


@pytest.mark.parametrize("why", NO_TILL)
def test_default__without_a_sound_x402_adapter__has_no_entry_for_payments(why: str) -> None:
    assert rules_of(None, NO_TILL[why]) == (BUY,)
    assert default_targets(NO_TILL[why]) == parse_targets([{"kind": "mandate_vault"}], CHAIN)


@pytest.mark.parametrize("why", NO_TILL)
def test_x402_entry__without_a_sound_x402_adapter__is_refused(why: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        rules_of([GOOD, {"kind": "x402"}], NO_TILL[why])
    assert refused.value.field == "allowed_targets[1]"


def test_x402_adapter__that_is_no_longer_listed__is_not_a_plain_contract() -> None:
    contracts = ListedContracts(CHAIN, {GOOD: (BUY,)}, {}, X402, {})
    with pytest.raises(InvalidParameterError, match="kind x402"):
        rules_of(
            [{"address": X402, "functions": [{"selector": PAY.selector}], "unpinned": True}],
            contracts,
        )


def test_a_target_of_another_chain__is_refused_at_its_chain_id() -> None:
    with pytest.raises(
        InvalidParameterError, match=f"the contracts are on chain {CHAIN}"
    ) as refused:
        expand_rules(parse_targets([{"kind": "x402"}, GOOD], CHAIN + 1), listed())
    assert refused.value.field == "allowed_targets[1].chain_id"


def test_an_adapter_narrowed_to_what_it_cannot_value__is_refused_wherever_it_stands() -> None:
    item = {"address": BAD, "functions": [{"signature": "f(address)", "recipient_word": 0}]}
    (narrowed,) = parse_targets([item], CHAIN)
    assert isinstance(narrowed, ContractTarget) and narrowed.functions
    spend = Rule(BAD, narrowed.functions[0].selector, UNPINNED, RuleKind.SPEND)
    valued = Rule(BAD, "0xffffffff", UNPINNED, RuleKind.VALUED)
    with pytest.raises(InvalidParameterError, match="name 0xffffffff too") as refused:
        rules_of([{"kind": "x402"}, item], listed(spend, valued))
    assert refused.value.field == "allowed_targets[1].functions"


def test_a_default_of_nothing__is_refused() -> None:
    nothing = ListedContracts(CHAIN, {}, {}, None, {})
    with pytest.raises(InvalidParameterError, match="they come to 0 functions"):
        rules_of(None, nothing)
