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
        (uint256 worth, uint256 unvaluedOut) = vault.worthAtCost();
        assertEq(worth, BUDGET - 10 * USD);
        assertEq(unvaluedOut, 0);
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

    // ------------------------------------------------------------------ worthAtCost

    function test_worthAtCost__nothing_unvalued__is_worth() public {
        _execute(vault, _buy(100 * USD));
        (uint256 worth, uint256 unvaluedOut) = vault.worthAtCost();
        assertEq(worth, vault.worth());
        assertEq(unvaluedOut, 0);
    }

    function test_worthAtCost__counts_unvalued_money_at_what_was_spent_less_what_came_back() public {
        _execute(vault, _buy(30 * USD));
        _execute(vault, _take(50 * USD));
        _execute(vault, _give(20 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        (uint256 worth, uint256 unvaluedOut) = vault.worthAtCost();
        assertEq(unvaluedOut, 30 * USD);
        // Cash of 940, 60 at the venue, 30 at cost.
        assertEq(worth, 1_030 * USD);
    }

    /// @dev Known limit: what went out where nobody values it and came back elsewhere counts as out for good.
    function test_worthAtCost__money_that_came_back_elsewhere__counts_twice() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        _execute(vault, _take(60 * USD));
        usdc.mint(address(relay), 60 * USD);
        relay.pushProceeds(address(vault), 60 * USD);
        (uint256 worth, uint256 unvaluedOut) = vault.worthAtCost();
        assertEq(unvaluedOut, 60 * USD);
        assertEq(worth, 1_060 * USD);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WorthUnknown.selector, 60 * USD));
        vault.worth();
    }
}
