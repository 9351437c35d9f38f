"""What may be written today: pins on addresses alone, no borrowed selectors, adapters as they
publish themselves.
"""

from typing import Any

import pytest

from api.areas.mandates.rules.target_checks import check_targets
from core.chain.abi import ALSO_KNOWN, CONTRACTS, functions
from core.errors import InvalidParameterError
from core.mandate.rules.expansion import ListedContracts, expand_rules
from core.mandate.rules.targets import parse_targets, targets_to_json
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.selectors import selector_of
from core.targets.known_signatures import WELL_KNOWN, signatures_by_selector
from tests.each import each

CHAIN = 84_532
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"  # a contract of somebody else
ADAPTER = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65"
BUY, SELL = "0xd96a094a", "0xe4849b32"  # buy(uint256), sell(uint256)
CREDIT = "0x6e553f65"  # deposit(uint256,address)
PUBLISHED = (
    Rule(ADAPTER, CREDIT, 1, RuleKind.SPEND),
    Rule(ADAPTER, BUY, UNPINNED, RuleKind.VALUED),
    Rule(ADAPTER, SELL, UNPINNED, RuleKind.EXIT),
)
LISTED = ListedContracts(CHAIN, {ADAPTER: PUBLISHED}, {}, None, signatures_by_selector())


def check(*functions_: dict[str, Any], address: str = VENUE, **target: Any) -> None:
    check_targets(
        parse_targets([{"address": address, "functions": list(functions_), **target}], CHAIN),
        LISTED,
    )


def refused(*functions_: dict[str, Any], **target: Any) -> tuple[str, str]:
    """(field below the target, the sentence)."""
    with pytest.raises(InvalidParameterError) as caught:
        check(*functions_, **target)
    return caught.value.field.removeprefix("allowed_targets[0]."), caught.value.rule


# Pins


def test_pin_by_a_bare_selector__is_refused_since_its_word_may_be_anything() -> None:
    field, rule = refused({"selector": CREDIT, "recipient_word": 1})
    assert field == "functions[0].recipient_word"
    assert rule == (
        "a pin needs the full signature, since a selector does not say what word it is; send "
        "signature instead of selector"
    )


def test_pin_by_selector_and_signature__is_taken() -> None:
    check({"selector": CREDIT, "signature": "deposit(uint256,address)", "recipient_word": 1})


def test_bare_selector_that_is_declared_unpinned__is_taken() -> None:
    check({"selector": CREDIT}, unpinned=True)


def test_bytes32_decoy__is_refused_since_the_callee_may_read_anything_from_it() -> None:
    field, rule = refused({"signature": "bridge(bytes32,address)", "recipient_word": 0})
    assert field == "functions[0].recipient_word"
    assert rule.startswith(
        "word 0 must be a static address in the head of bridge(bytes32,address); it is bytes32; "
    )
    assert rule.endswith(
        "pin a word that is an address, or leave recipient_word out and say unpinned: true at "
        "the target"
    )


@each(
    ("signature", "word", "found"),
    [
        ("f(uint256,address)", 0, "uint256"),
        ("f(uint160)", 0, "uint160"),
        ("f(bytes20)", 0, "bytes20"),
        ("f(function)", 0, "function"),
        ("f(address)", 1, "not there"),
        ("f()", 0, "not there"),
        ("f(address[])", 0, "the offset of a dynamic argument"),
        ("f(address[])", 2, "not there"),
        ("f((bytes,address))", 0, "the offset of a dynamic argument"),
        ("f((bytes,address))", 2, "not there"),
        ("f((address,uint8)[2])", 1, "uint8"),
    ],
)
def test_pin_on_a_decoy__is_refused_and_says_what_the_word_is(
    signature: str, word: int, found: str
) -> None:
    field, rule = refused({"signature": signature, "recipient_word": word})
    assert field == "functions[0].recipient_word"
    assert f"; it is {found};" in rule


@each(
    ("signature", "word"),
    [
        ("f(address)", 0),
        ("f(uint256,address)", 1),
        ("f(bytes,address)", 1),
        ("f((address,uint8)[2])", 2),
        ("f(uint8[100],address)", 100),
    ],
)
def test_pin_on_a_static_address__is_taken(signature: str, word: int) -> None:
    check({"signature": signature, "recipient_word": word})


def test_pin_on_the_last_word_that_a_rule_can_name__is_taken() -> None:
    check({"signature": "f(uint256[127],uint256[127],address)", "recipient_word": 254})


def test_the_refused_function__is_named_by_its_place() -> None:
    good, bad = (
        {"signature": "f(address)", "recipient_word": 0},
        {"signature": "g(bytes32)", "recipient_word": 0},
    )
    assert refused(good, bad)[0] == "functions[1].recipient_word"


# Stored lists


@each(
    "function",
    [
        {"selector": CREDIT, "recipient_word": 1},
        {"signature": "bridge(bytes32,address)", "recipient_word": 0},
        {"signature": "f(address[])", "recipient_word": 0},
        {"signature": "passphrase_calculate_transfer(uint64,address)", "recipient_word": 1},
    ],
)
def test_stored_list_with_a_pin_of_before__is_read_and_expanded_as_it_was(
    function: dict[str, Any],
) -> None:
    items = [{"address": VENUE, "functions": [function]}]
    targets = parse_targets(items, CHAIN)
    assert parse_targets(targets_to_json(targets), CHAIN) == targets
    assert [rule.recipient_word for rule in expand_rules(targets, LISTED)] == [
        function["recipient_word"]
    ]
    with pytest.raises(InvalidParameterError):
        check_targets(targets, LISTED)


# Borrowed selectors


@each(
    ("text", "known"),
    [
        # Of balanceOf(address), word 1 is not there: whatever stands behind the arguments would be
        # the pin.
        ("passphrase_calculate_transfer(uint64,address)", "balanceOf(address)"),
        ("many_msg_babbage(bytes1)", "transfer(address,uint256)"),
        ("join_tg_invmru_haha_fd06787(address,bool)", "transfer(address,uint256)"),
        ("sign_szabo_bytecode(bytes16,uint128)", "approve(address,uint256)"),
        ("gasprice_bit_ether(int128)", "transferFrom(address,address,uint256)"),
        # Yearn v3, with a greatest loss
        ("reinvest_yjlvdfb(uint256,uint256,address)", "redeem(uint256,address,address,uint256)"),
    ],
)
def test_text_that_borrows_a_known_selector__is_refused_with_both_names(
    text: str, known: str
) -> None:
    field, rule = refused({"signature": text}, unpinned=True)
    assert field == "functions[0].signature"
    assert rule.startswith(f"{text} shares the selector 0x") and rule.endswith(
        f"with {known}, which is what would be called; send {known}"
    )


def test_pin_in_a_text_that_borrows_a_known_selector__is_refused_by_the_text() -> None:
    assert (
        refused(
            {"signature": "passphrase_calculate_transfer(uint64,address)", "recipient_word": 1}
        )[0]
        == "functions[0].signature"
    )


def test_known_function_by_its_own_text__is_taken() -> None:
    check({"signature": "transfer(address,uint256)", "recipient_word": 0})


def test_unknown_selector__can_not_be_contradicted() -> None:
    check({"signature": "zap(address)", "recipient_word": 0})


def test_known_signatures__hold_every_function_of_every_abi_file_and_no_two_share_a_selector() -> (
    None
):
    every = {
        function.signature
        for contract in (*CONTRACTS, *ALSO_KNOWN)
        for function in functions(contract).values()
    }
    assert set(signatures_by_selector().values()) == every | set(WELL_KNOWN)


def test_well_known_signatures__are_canonical_and_named_once() -> None:
    assert len({selector_of(signature) for signature in WELL_KNOWN}) == len(WELL_KNOWN)


@each(
    ("selector", "signature"),
    [
        ("0x9f40a7b3", "redeem(uint256,address,address,uint256)"),
        ("0xb460af94", "withdraw(uint256,address,address)"),
        ("0x94bf804d", "mint(uint256,address)"),
        ("0xb88d4fde", "safeTransferFrom(address,address,uint256,bytes)"),
        ("0x2eb2c2d6", "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)"),
        ("0x38ed1739", "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"),
        (
            "0x414bf389",
            "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))",
        ),
        (
            "0x04e45aaf",
            "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
        ),
        ("0xb858183f", "exactInput((bytes,address,uint256,uint256))"),
        ("0x617ba037", "supply(address,uint256,address,uint16)"),
        ("0x69328dec", "withdraw(address,uint256,address)"),
        (
            "0xa99aad89",
            "supply((address,address,address,address,uint256),uint256,uint256,address,bytes)",
        ),
        ("0xac9650d8", "multicall(bytes[])"),
        ("0x3593564c", "execute(bytes,bytes[],uint256)"),
        ("0x82ad56cb", "aggregate3((address,bool,bytes)[])"),
        (
            "0x6a761202",
            "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        ),
        ("0xd505accf", "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)"),
        ("0x8fcbaf0c", "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)"),
        (
            "0x30f28b7a",
            "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)",
        ),
        (
            "0x88316456",
            "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))",
        ),
        ("0xfc6f7865", "collect((uint256,address,uint128,uint128))"),
    ],
)
def test_known_signatures__have_the_selectors_that_block_explorers_show(
    selector: str, signature: str
) -> None:
    assert signatures_by_selector()[selector] == signature


@pytest.mark.parametrize("contract", ["ReserveToken", "RelayAdapter"])
def test_known_signatures__hold_the_houses_other_contracts(contract: str) -> None:
    assert set(functions(contract)) & {"buy(uint256,uint256,address)", "deliver(address,uint256)"}
    assert all(
        signatures_by_selector()[one.selector] == one.signature
        for one in functions(contract).values()
    )


# Listed adapters


@each(
    "function",
    [
        {"signature": "buy(uint256)"},
        {"selector": BUY},
        {"signature": "sell(uint256)", "exit": True},
        {"signature": "deposit(uint256,address)", "recipient_word": 1},
    ],
)
def test_function_of_an_adapter__as_it_is_published__is_taken(function: dict[str, Any]) -> None:
    check(function, address=ADAPTER)


@each(
    ("function", "field", "says"),
    [
        (
            {"signature": "buy(uint256)", "exit": True},
            "exit",
            "buy(uint256) as a spend; leave exit out",
        ),
        ({"signature": "sell(uint256)"}, "exit", "sell(uint256) as an exit; send exit: true"),
        ({"selector": SELL, "exit": False}, "exit", f"{SELL} as an exit; send exit: true"),
        (
            {"selector": BUY, "recipient_word": 0},
            "recipient_word",
            f"{BUY} without a pin, since it pays its caller; leave recipient_word out",
        ),
        (
            {"signature": "deposit(uint256,address)"},
            "recipient_word",
            "with word 1 pinned; send recipient_word: 1",
        ),
        (
            {"signature": "deposit(uint256,address)", "recipient_word": 0},
            "recipient_word",
            "with word 1 pinned; send recipient_word: 1",
        ),
    ],
)
def test_function_of_an_adapter__that_contradicts_what_is_published__is_refused(
    function: dict[str, Any], field: str, says: str
) -> None:
    found, rule = refused(function, address=ADAPTER)
    assert found == f"functions[0].{field}"
    assert rule.startswith("the adapter publishes ") and rule.endswith(says)


def test_text_whose_pinned_word_an_adapter_publishes_and_the_text_does_not_have__is_refused() -> (
    None
):
    """The adapter publishes word 1 as the vault's; under this text it would be a number."""
    rule = Rule(ADAPTER, "0xb6b55f25", 0, RuleKind.VALUED)  # deposit(uint256)
    listed = ListedContracts(CHAIN, {ADAPTER: (rule,)}, {}, None, {})
    items = [
        {"address": ADAPTER, "functions": [{"signature": "deposit(uint256)", "recipient_word": 0}]}
    ]
    with pytest.raises(InvalidParameterError) as caught:
        check_targets(parse_targets(items, CHAIN), listed)
    assert "it is uint256" in caught.value.rule


def test_adapter_that_is_said_to_be_unpinned__is_refused_since_it_pays_its_caller() -> None:
    field, rule = refused({"signature": "buy(uint256)"}, address=ADAPTER, unpinned=True)
    assert (field, rule) == (
        "unpinned",
        "a listed adapter pays its caller, which is the vault; leave unpinned out",
    )
