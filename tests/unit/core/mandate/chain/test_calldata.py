"""Call data out and back, against selectors and encodings known from the contracts."""

import pytest

from core.chain.abi import AbiDecodeError, AbiEncodeError, call_by_signature, function
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.mandate.venues import test_venue
from tests.each import each
from tests.unit.core.mandate.chain.test_typed_data import TERMS

TARGET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


def test_buy__has_the_selector_that_the_adapter_publishes() -> None:
    assert test_venue.buy(5) == "0xd96a094a" + f"{5:064x}"
    assert test_venue.sell(5)[:10] == "0xe4849b32"


def test_execute__and_back__gives_the_call() -> None:
    call = VaultCall(TARGET, 5, test_venue.buy(5))
    assert calldata.calls_of(calldata.execute(call)) == (call,)


def test_execute_batch__and_back__gives_the_calls() -> None:
    calls = (VaultCall(TARGET, 5, test_venue.buy(5)), VaultCall(TARGET, 0, test_venue.sell(7)))
    assert calldata.calls_of(calldata.execute_batch(calls)) == calls
    assert calldata.calls_of(calldata.unwind(calls)) == calls


def test_calls_of__another_function__is_none() -> None:
    assert calldata.calls_of(calldata.settle()) is None
    assert calldata.calls_of("0x") is None


def test_calls_of__cut_short__raises() -> None:
    with pytest.raises(AbiDecodeError):
        calldata.calls_of(calldata.execute(VaultCall(TARGET, 5, "0x"))[:80])


def test_create_vault__and_back__gives_terms_and_rules() -> None:
    rule = Rule(TARGET, "0xd96a094a", UNPINNED, RuleKind.VALUED)
    data = calldata.create_vault(TERMS, [rule], "0x1234")
    terms, rules, signature, funding = function("MandateVaultFactory", "createVault").decode_input(
        data
    )
    assert (terms, rules) == (calldata.terms_tuple(TERMS), (calldata.rule_tuple(rule),))
    assert (signature, funding) == ("0x1234", (0, 0, 0, "0x"))


def test_function_of__names_the_function() -> None:
    found = calldata.function_of(calldata.withdraw(TARGET, TARGET, 1))
    assert found is not None
    assert found.signature == "withdraw(address,address,uint256)"
    assert calldata.function_of("0xffffffff") is None


def test_stop__a_reason_of_33_characters__is_refused() -> None:
    calldata.stop("r" * 32)
    with pytest.raises(AbiEncodeError):
        calldata.stop("r" * 33)


def test_call_by_signature__spaces_do_not_matter() -> None:
    assert call_by_signature("approve( address , uint256 )", [TARGET, 1]) == calldata.approve(
        TARGET, 1
    )


def test_call_by_signature__wrong_number_of_arguments__is_refused() -> None:
    with pytest.raises(AbiEncodeError):
        call_by_signature("approve(address,uint256)", [TARGET])


@each("amount", [-1, 2**256, "5"])
def test_deposit__an_amount_that_is_no_uint256__is_refused(amount: int) -> None:
    with pytest.raises(AbiEncodeError):
        calldata.deposit(amount)
