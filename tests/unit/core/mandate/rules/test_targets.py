"""What may be allowed, in which forms, and the rules it comes to."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mandates.rules.target_checks import check_targets
from core.errors import InvalidParameterError
from core.mandate.rules.expansion import PERMIT2, ListedContracts, default_targets, expand_rules
from core.mandate.rules.state import position_rules
from core.mandate.rules.targets import (
    MAX_GUARD_ENTRIES,
    ContractTarget,
    TargetFunction,
    VaultTarget,
    X402Target,
    guard_targets,
    parse_targets,
    stored_targets,
    targets_to_json,
)
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from tests.each import each

CHAIN = 84_532
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"  # a contract of somebody else
ADAPTER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
PAYMENTS = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
FACTORY = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"

BUY = Rule(ADAPTER, "0xd96a094a", UNPINNED, RuleKind.VALUED)
SELL = Rule(ADAPTER, "0xe4849b32", UNPINNED, RuleKind.EXIT)
PAY = Rule(PAYMENTS, "0x12345678", UNPINNED, RuleKind.COST)
NEVER = {USDC: "USDC", FACTORY: "the factory"}
LISTED = ListedContracts(CHAIN, {PAYMENTS: (PAY,), ADAPTER: (BUY, SELL)}, NEVER, PAYMENTS, {})
PINNED = {"signature": "deposit(uint256,address)", "recipient_word": 1}


def rules_of(items: list[Any] | None) -> tuple[Rule, ...]:
    """As a draft is written: read, checked, expanded."""
    targets = parse_targets(items, CHAIN)
    check_targets(targets, LISTED)
    return expand_rules(targets, LISTED)


def refused_field(items: Any) -> str:
    with pytest.raises(InvalidParameterError) as refused:
        rules_of(items)
    return refused.value.field


# The default


def test_default__is_the_vault_and_paid_reads_of_this_service() -> None:
    assert targets_to_json(parse_targets(None, CHAIN)) == [
        {"kind": "mandate_vault", "chain_id": CHAIN, "address": None},
        {"kind": "x402", "hosts": [], "payees": []},
    ]


def test_default__comes_to_the_rules_of_all_listed_adapters() -> None:
    assert rules_of(None) == (BUY, SELL, PAY)


def test_vault_entry_alone__leaves_out_the_payment_adapter() -> None:
    assert rules_of([{"kind": "mandate_vault"}]) == (BUY, SELL)


def test_x402_entry_alone__is_the_payment_adapter() -> None:
    assert rules_of([{"kind": "x402"}]) == (PAY,)


def test_vault_entry__shows_the_vault_once_there_is_one() -> None:
    assert targets_to_json((VaultTarget(CHAIN),), VENUE)[0]["address"] == VENUE


def test_empty_list__is_refused() -> None:
    assert refused_field([]) == "allowed_targets"


def test_list_that_comes_to_nothing__is_refused() -> None:
    with pytest.raises(InvalidParameterError):
        expand_rules(parse_targets(None, CHAIN), ListedContracts(CHAIN, {}, {}, None, {}))


def test_default__is_what_is_listed_and_no_more() -> None:
    both = parse_targets(None, CHAIN)
    assert default_targets(LISTED) == both
    assert (
        default_targets(ListedContracts(CHAIN, {ADAPTER: (BUY, SELL)}, NEVER, PAYMENTS, {}))
        == both[:1]
    )
    assert (
        default_targets(ListedContracts(CHAIN, {PAYMENTS: (PAY,)}, NEVER, PAYMENTS, {})) == both[1:]
    )


@each(
    ("items", "adapters", "says"),
    [
        (
            [ADAPTER, {"kind": "x402"}],
            {ADAPTER: (BUY, SELL)},
            "no adapter for payments is listed",
        ),
        (
            [ADAPTER, {"kind": "x402"}],
            {ADAPTER: (BUY, SELL), PAYMENTS: ()},
            "no adapter for payments is listed",
        ),
        (
            [{"kind": "x402"}, {"kind": "mandate_vault"}],
            {PAYMENTS: (PAY,)},
            "no adapter of this service is listed",
        ),
    ],
)
def test_entry_that_comes_to_no_rule__is_refused_since_its_clause_would_be_untrue(
    items: Any, adapters: Any, says: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        expand_rules(
            parse_targets(items, CHAIN), ListedContracts(CHAIN, adapters, NEVER, PAYMENTS, {})
        )
    assert (refused.value.field, refused.value.rule) == (
        "allowed_targets[1]",
        f"{says}, so it allows nothing; leave it out",
    )


# Contracts


@each(
    "item",
    [
        ADAPTER,
        ADAPTER.lower(),
        {"address": ADAPTER},
        {"kind": "contract", "chain_id": CHAIN, "address": ADAPTER},
    ],
)
def test_listed_adapter__in_any_form__brings_its_published_rules(item: Any) -> None:
    assert rules_of([item]) == (BUY, SELL)


def test_listed_adapter__narrowed_to_a_function__brings_the_published_rule() -> None:
    assert rules_of([{"address": ADAPTER, "functions": [{"signature": "buy(uint256)"}]}]) == (BUY,)


CREDIT = Rule(ADAPTER, "0x11111111", UNPINNED, RuleKind.SPEND)
TRADES = ListedContracts(CHAIN, {ADAPTER: (CREDIT, BUY, SELL)}, NEVER, None, {})
SPENDS, VALUED, EXITS = (
    {"selector": CREDIT.selector},
    {"selector": BUY.selector},
    {"selector": SELL.selector, "exit": True},
)


@pytest.mark.parametrize("functions", [[SPENDS], [EXITS, SPENDS]])
def test_listed_adapter__narrowed_to_what_spends_unvalued__is_refused(functions: list[Any]) -> None:
    """A vault values an adapter by the mandate's own rules: one such spend would turn the public
    stop off.
    """
    with pytest.raises(InvalidParameterError) as refused:
        expand_rules(parse_targets([{"address": ADAPTER, "functions": functions}], CHAIN), TRADES)
    assert refused.value.field == "allowed_targets[0].functions"
    assert refused.value.rule.endswith(
        f"; name {BUY.selector} too, or leave functions out to allow all that the adapter publishes"
    )


@each("functions", [[SPENDS, VALUED], [EXITS], [VALUED], [SPENDS, VALUED, EXITS]])
def test_listed_adapter__narrowed_to_what_it_values__never_counts_money_as_unvalued(
    functions: list[Any],
) -> None:
    rules = expand_rules(
        parse_targets([{"address": ADAPTER, "functions": functions}], CHAIN), TRADES
    )
    assert all(selector != CREDIT.selector for _, selector in position_rules(rules).unvalued)


def test_spend_of_an_adapter_beside_the_vaults_entry__is_taken_since_that_values_it() -> None:
    items = [{"address": ADAPTER, "functions": [SPENDS]}, {"kind": "mandate_vault"}]
    assert expand_rules(parse_targets(items, CHAIN), TRADES) == (CREDIT, BUY, SELL)


def test_listed_adapter__with_a_function_it_does_not_publish__is_refused() -> None:
    item = {"address": ADAPTER, "functions": [{"signature": "sweep(address)", "recipient_word": 0}]}
    assert refused_field([item]) == "allowed_targets[0].functions[0]"


def test_vault_entry_and_its_adapter__name_the_same_rules_once() -> None:
    assert rules_of([{"kind": "mandate_vault"}, ADAPTER]) == (BUY, SELL)


def test_payment_adapter__by_its_bare_address__is_refused() -> None:
    assert refused_field([PAYMENTS]) == "allowed_targets[0]"


def test_other_contract__with_pinned_functions__brings_them_as_spend_and_exit() -> None:
    redeem = {"signature": "redeem(uint256,address,address)", "recipient_word": 1, "exit": True}
    assert rules_of([{"address": VENUE, "functions": [PINNED, redeem]}]) == (
        Rule(VENUE, "0x6e553f65", 1, RuleKind.SPEND),
        Rule(VENUE, "0xba087652", 1, RuleKind.EXIT),
    )


def test_other_contract__bare__is_refused() -> None:
    assert refused_field([VENUE]) == "allowed_targets[0].functions"


def test_unpinned_function__not_declared__is_refused() -> None:
    field = "allowed_targets[0].functions[1].recipient_word"
    assert (
        refused_field([{"address": VENUE, "functions": [PINNED, {"selector": "0xaabbccdd"}]}])
        == field
    )


def test_unpinned_function__declared__is_taken_and_shown() -> None:
    items = [{"address": VENUE, "functions": [{"selector": "0xaabbccdd"}], "unpinned": True}]
    assert rules_of(items) == (Rule(VENUE, "0xaabbccdd", UNPINNED, RuleKind.SPEND),)
    target = parse_targets(items, CHAIN)[0]
    assert isinstance(target, ContractTarget)
    assert [function.name for function in target.untied] == ["0xaabbccdd"]


def test_pin_on_a_word_behind_an_offset__is_refused_since_it_would_pin_nothing() -> None:
    # Of f((bytes,address)) the address is word 2 as usually encoded, but the caller chooses where
    # the tuple lies.
    function = {"signature": "f((bytes,address))", "recipient_word": 2}
    assert (
        refused_field([{"address": VENUE, "functions": [function]}])
        == "allowed_targets[0].functions[0].recipient_word"
    )


@each("word", [0, 2, -1, 255, True, "1", 1.0])
def test_pin_on_anything_but_an_address_word__is_refused(word: object) -> None:
    function = {"signature": "deposit(uint256,address)", "recipient_word": word}
    assert refused_field([{"address": VENUE, "functions": [function]}]).endswith("recipient_word")


@each("address", [USDC, FACTORY, PERMIT2, USDC.lower()])
def test_forbidden_contract__is_never_a_target(address: str) -> None:
    assert (
        refused_field([{"address": address, "functions": [PINNED]}]) == "allowed_targets[0].address"
    )


@each(
    "item",
    [
        {"address": ADAPTER, "chain_id": 1},
        {"kind": "mandate_vault", "chain_id": 8453},
        {"address": ADAPTER, "chain_id": True},
    ],
)
def test_target_on_another_chain__is_refused(item: Any) -> None:
    assert refused_field([item]) == "allowed_targets[0].chain_id"


@each(
    ("item", "field"),
    [
        (7, "allowed_targets[0]"),
        ("0x12", "allowed_targets[0]"),
        ({"kind": "wallet"}, "allowed_targets[0].kind"),
        ({"kind": ["contract"]}, "allowed_targets[0].kind"),
        ({"address": None}, "allowed_targets[0].address"),
        ({"address": VENUE, "unpinned": "yes"}, "allowed_targets[0].unpinned"),
        ({"address": VENUE, "function": []}, "allowed_targets[0].function"),
        ({"address": VENUE, "functions": []}, "allowed_targets[0].functions"),
        ({"address": VENUE, "functions": "buy()"}, "allowed_targets[0].functions"),
        ({"address": VENUE, "functions": ["buy()"]}, "allowed_targets[0].functions[0]"),
        ({"address": VENUE, "functions": [PINNED, PINNED]}, "allowed_targets[0].functions"),
        (
            {"address": VENUE, "functions": [{"recipient_word": 0}]},
            "allowed_targets[0].functions[0].selector",
        ),
        (
            {"address": VENUE, "functions": [{**PINNED, "selector": "0xaabbccdd"}]},
            "allowed_targets[0].functions[0].selector",
        ),
        (
            {"address": VENUE, "functions": [{**PINNED, "exit": 1}]},
            "allowed_targets[0].functions[0].exit",
        ),
        (
            {"address": VENUE, "functions": [{**PINNED, "signature": 4}]},
            "allowed_targets[0].functions[0].signature",
        ),
        ({"kind": "x402", "address": VENUE}, "allowed_targets[0].address"),
        ({"kind": "x402", "hosts": "a.example"}, "allowed_targets[0].hosts"),
        ({"kind": "x402", "payees": ["0x12"]}, "allowed_targets[0].payees"),
        ({"kind": "x402", "hosts": ["h.example"] * 33}, "allowed_targets[0].hosts"),
    ],
)
def test_malformed_entry__names_its_field(item: Any, field: str) -> None:
    assert refused_field([item]) == field


@each("items", [{}, "0x12", 5, [ADAPTER] * 33])
def test_list_of_another_form__is_refused(items: Any) -> None:
    assert refused_field(items) == "allowed_targets"


@each(
    "items",
    [
        [ADAPTER, {"address": ADAPTER.lower()}],
        [{"kind": "x402"}, {"kind": "x402"}],
        [{"kind": "mandate_vault"}] * 2,
    ],
)
def test_target_named_twice__is_refused(items: list[Any]) -> None:
    assert refused_field(items) == "allowed_targets[1]"


def many(count: int) -> list[Any]:
    return [
        {
            "address": VENUE,
            "functions": [{"selector": f"0x{n:08x}"} for n in range(count)],
            "unpinned": True,
        }
    ]


def test_rules__thirty_two_are_taken() -> None:
    assert len(rules_of(many(32))) == 32


def test_rules__thirty_three_are_refused() -> None:
    assert refused_field([*many(31), ADAPTER]) == "allowed_targets"


def test_functions_over_all_targets__more_than_32__are_refused_before_any_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[object] = []
    monkeypatch.setattr("core.mandate.rules.targets.head_words", read.append)
    monkeypatch.setattr("core.mandate.rules.targets.selector_of", lambda *text: read.append(text))
    functions = [{"signature": f"f{n}(address)", "recipient_word": 0} for n in range(32)]
    items = [{"address": f"0x{n + 1:040x}", "functions": functions} for n in range(32)]
    with pytest.raises(InvalidParameterError) as refused:
        parse_targets(items, CHAIN)
    assert (refused.value.field, refused.value.rule) == (
        "allowed_targets",
        "they name 1024 functions; 1 to 32 are possible",
    )
    assert read == []


@given(st.permutations(list(range(20))))
def test_rules__are_strictly_ascending_whatever_the_order_written(order: list[int]) -> None:
    first = {
        "address": VENUE,
        "functions": [{"selector": f"0x{n * 7:08x}"} for n in order],
        "unpinned": True,
    }
    rules = rules_of([{"kind": "x402"}, first, ADAPTER])
    keys = [(int(rule.target, 16), int(rule.selector, 16)) for rule in rules]
    assert all(low < high for low, high in itertools.pairwise(keys))
    assert len(keys) == 23


# x402


def test_x402__hosts_and_payees_are_sorted_once_each_in_one_spelling() -> None:
    items = [
        {
            "kind": "x402",
            "hosts": ["B.example", "a.example:8443", "b.example"],
            "payees": [VENUE.lower(), ADAPTER, VENUE],
        }
    ]
    assert guard_targets(parse_targets(items, CHAIN)) == [
        {"kind": "x402", "hosts": ["a.example:8443", "b.example"], "payees": [ADAPTER, VENUE]}
    ]


def test_guard_targets__without_an_x402_entry__are_empty() -> None:
    assert guard_targets(parse_targets([ADAPTER], CHAIN)) == []


@each(
    "host",
    [
        "https://a.example",
        "a.example/path",
        "a b",
        "",
        "-a.example",
        "a..example",
        "a.example:",
        "a.example:0",
        "*",
        "*.example",
        "a" * 64,
        "\u00e4.example",
        "a.example\n",
        7,
    ],
)
def test_x402__host_in_another_form__is_refused(host: object) -> None:
    assert refused_field([{"kind": "x402", "hosts": [host]}]) == "allowed_targets[0].hosts"


@each("host", ["localhost", "127.0.0.1:8000", "xn--4ca.example", "a-b.example"])
def test_x402__plain_hosts__are_taken(host: str) -> None:
    assert parse_targets([{"kind": "x402", "hosts": [host]}], CHAIN) == (X402Target((host,), ()),)


# Stored lists


@each(
    "signature",
    ["f((),address)", "f(address[1]\n)", "f(((uint8[255],uint8)[]),address)", "f(" * 300],
)
def test_stored_signature_that_is_refused_today__is_read_by_its_selector(signature: str) -> None:
    function = {"selector": "0xaabbccdd", "signature": signature, "recipient_word": 0, "exit": True}
    item = {
        "kind": "contract",
        "chain_id": CHAIN,
        "address": VENUE,
        "functions": [function, PINNED],
        "unpinned": False,
    }
    (target,) = stored_targets([item], CHAIN)
    assert isinstance(target, ContractTarget) and target.functions is not None
    assert target.functions[0] == TargetFunction("0xaabbccdd", None, 0, is_exit=True)
    assert target.untied == target.functions[:1]
    with pytest.raises(InvalidParameterError):
        parse_targets([item], CHAIN)


def test_stored_list__of_today__is_read_as_it_was_written() -> None:
    targets = parse_targets(
        [{"kind": "x402"}, ADAPTER, {"address": VENUE, "functions": [PINNED]}], CHAIN
    )
    assert stored_targets(targets_to_json(targets), CHAIN) == targets
    assert stored_targets(None, CHAIN) == parse_targets(None, CHAIN)


# Round trip


def test_canonical_form__read_again__is_the_same() -> None:
    items = [
        {"kind": "mandate_vault"},
        {"kind": "x402", "hosts": ["b.example", "a.example"]},
        ADAPTER.lower(),
        {"address": VENUE, "functions": [PINNED, {"selector": "0xAABBCCDD"}], "unpinned": True},
    ]
    targets = parse_targets(items, CHAIN)
    assert parse_targets(targets_to_json(targets, vault_address=VENUE), CHAIN) == targets
    assert targets[3] == ContractTarget(
        CHAIN,
        VENUE,
        (
            TargetFunction("0x6e553f65", "deposit(uint256,address)", 1, is_exit=False),
            TargetFunction("0xaabbccdd", None, None, is_exit=False),
        ),
        says_unpinned=True,
    )


def test_x402__as_many_hosts_as_there_may_be__are_taken() -> None:
    hosts = [f"h{number:02}.example" for number in range(MAX_GUARD_ENTRIES)]
    assert parse_targets([{"kind": "x402", "hosts": hosts}], CHAIN) == (
        X402Target(tuple(hosts), ()),
    )


def test_an_unknown_field__is_answered_with_those_that_there_are_in_order() -> None:
    with pytest.raises(
        InvalidParameterError,
        match="known are address, chain_id, functions, kind, unpinned",
    ):
        parse_targets([{"address": VENUE, "more": 1}], CHAIN)
