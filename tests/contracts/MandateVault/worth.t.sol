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
        _assertWorth(BUDGET, 0);
        vm.prank(operator);
        venue.setPrice(1_500_000);
        _assertWorth(BUDGET + 50 * USD, 0);
    }

    function test_worth__costs_are_gone() public {
        vm.prank(admin);
        factory.listAdapter(address(hostile));
        _clearRules();
        _addRule(address(hostile), HostileVenue.take.selector, NO_PIN, KIND_COST);
        vault = _createWorking();
        _execute(vault, _take(10 * USD));
        _assertWorth(BUDGET - 10 * USD, 0);
        assertEq(vault.totals().unvaluedOut, 0);
    }

    function test_worth__donations_are_none() public {
        usdc.mint(address(vault), 1);
        _assertWorth(BUDGET, 0);
    }

    function test_worth__an_adapter_with_several_rules_is_asked_once() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(relay), MockRelayAdapter.setValue.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        relay.setValue(address(vault), 7 * USD);
        _assertWorth(BUDGET + 7 * USD, 0);
    }

    function test_worth__two_adapters_add_up() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        _execute(vault, _buy(100 * USD));
        relay.setValue(address(vault), 7 * USD);
        _assertWorth(BUDGET + 7 * USD, 0);
    }

    function test_worth__counts_unvalued_money_at_what_was_spent_less_what_came_back() public {
        _execute(vault, _buy(30 * USD));
        _execute(vault, _take(50 * USD));
        _execute(vault, _give(20 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        // Cash of 940, 60 at the venue, 30 at cost.
        _assertWorth(1_030 * USD, 30 * USD);
    }

    /// @dev Known limit: what went out where nobody values it and came back elsewhere counts as out for good.
    function test_worth__money_that_came_back_elsewhere__counts_twice() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        _execute(vault, _take(60 * USD));
        usdc.mint(address(relay), 60 * USD);
        relay.pushProceeds(address(vault), 60 * USD);
        _assertWorth(1_060 * USD, 60 * USD);
    }

    function test_worth__an_adapter_that_reverts__reverts() public {
        vm.mockCallRevert(address(adapter), abi.encodeWithSelector(TestVenueAdapter.valueOf.selector), "down");
        _expectRevert("down");
        vault.worth();
    }

    function _assertWorth(uint256 expected, uint256 expectedOut) private view {
        (uint256 worth, uint256 unvaluedOut) = vault.worth();
        assertEq(worth, expected);
        assertEq(unvaluedOut, expectedOut);
    }
}
