// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract FeeOwedTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function test_feeOwed__no_gain__is_nothing() public {
        assertEq(vault.feeOwed(), 0);
        _execute(vault, _buy(100 * USD));
        assertEq(vault.feeOwed(), 0);
        _execute(vault, _sell(100 * USD));
        assertEq(vault.feeOwed(), 0);
    }

    function test_feeOwed__realised_gain__is_the_share() public {
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        assertEq(vault.feeOwed(), 0);
        _execute(vault, _sell(100 * USD));
        assertEq(vault.feeOwed(), 10 * USD);
    }

    function test_feeOwed__after_settling__is_nothing() public {
        relay.pushProceeds(address(vault), 100 * USD);
        _stop(vault);
        assertEq(vault.feeOwed(), 10 * USD);
        vm.prank(keeper);
        vault.settle();
        assertEq(vault.feeOwed(), 0);
    }

    function test_feeOwed__nobody_to_pay__is_nothing() public {
        terms.agent = address(0);
        vault = _createWorking();
        relay.pushProceeds(address(vault), 100 * USD);
        assertEq(vault.feeOwed(), 0);
        vm.prank(owner);
        vault.setAgent(agent);
        assertEq(vault.feeOwed(), 0);
        _execute(vault, _buy(10 * USD));
        assertEq(vault.feeOwed(), 9 * USD);
    }

    function testFuzz_feeOwed__is_never_above_the_balance(uint256 spend, uint256 price, uint16 bps) public {
        terms.nonce = 2;
        terms.agentFeeBps = bps % 10_001;
        vault = _createWorking();
        _execute(vault, _buy(1 + spend % PER_TX));
        vm.prank(operator);
        venue.setPrice(1 + price % (100 * USD));
        uint256 units = venue.positionOf(address(vault));
        _execute(vault, _sell(units));
        Totals memory totals = vault.totals();
        uint256 gain = totals.received > totals.spent ? totals.received - totals.spent : 0;
        assertEq(vault.feeOwed(), gain * terms.agentFeeBps / 10_000);
        assertTrue(vault.feeOwed() <= usdc.balanceOf(address(vault)));
    }
}
