// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract WorthTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function test_worth__cash_and_what_the_adapter_says() public {
        _execute(vault, _buy(100 * USD));
        assertEq(vault.worth(), BUDGET);
        vm.prank(operator);
        venue.setPrice(1_500_000);
        assertEq(vault.worth(), BUDGET + 50 * USD);
    }

    function test_worth__costs_are_gone() public {
        vm.prank(admin);
        factory.listAdapter(address(hostile));
        _clearRules();
        _addRule(address(hostile), HostileVenue.take.selector, NO_PIN, KIND_COST);
        vault = _createWorking();
        _execute(vault, _take(10 * USD));
        assertEq(vault.worth(), BUDGET - 10 * USD);
        assertEq(vault.totals().unvaluedOut, 0);
    }

    function test_worth__donations_are_none() public {
        usdc.mint(address(vault), 1);
        assertEq(vault.worth(), BUDGET);
    }

    function test_worth__an_adapter_with_several_rules_is_asked_once() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(relay), MockRelayAdapter.setValue.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        relay.setValue(address(vault), 7 * USD);
        assertEq(vault.worth(), BUDGET + 7 * USD);
    }

    function test_worth__two_adapters_add_up() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        _execute(vault, _buy(100 * USD));
        relay.setValue(address(vault), 7 * USD);
        assertEq(vault.worth(), BUDGET + 7 * USD);
    }

    function test_worth__money_out_at_unvalued_targets__reverts() public {
        _execute(vault, _take(3));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WorthUnknown.selector, uint256(3)));
        vault.worth();
    }
}
