// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract RemainingTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _assertRemaining(uint256 today, uint256 total, uint256 freesAt) private view {
        (uint256 perAction_, uint256 today_, uint256 total_, uint256 freesAt_) = vault.remaining();
        assertEq(perAction_, PER_TX);
        assertEq(today_, today);
        assertEq(total_, total);
        assertEq(freesAt_, freesAt);
    }

    function test_remaining__untouched__is_the_caps_and_the_budget() public view {
        _assertRemaining(DAILY, BUDGET, 0);
    }

    function test_remaining__the_per_action_cap_is_the_cap_itself_when_the_day_leaves_less() public {
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(70 * USD));
        _assertRemaining(30 * USD, 730 * USD, NOW + 1 days);
    }

    function test_remaining__entries_leave_one_after_the_other_to_the_second() public {
        _execute(vault, _buy(100 * USD));
        vm.warp(NOW + 600);
        _execute(vault, _buy(50 * USD));
        _assertRemaining(150 * USD, 850 * USD, NOW + 1 days);

        vm.warp(NOW + 1 days - 1);
        _assertRemaining(150 * USD, 850 * USD, NOW + 1 days);
        vm.warp(NOW + 1 days);
        _assertRemaining(250 * USD, 850 * USD, NOW + 600 + 1 days);
        vm.warp(NOW + 600 + 1 days - 1);
        _assertRemaining(250 * USD, 850 * USD, NOW + 600 + 1 days);
        vm.warp(NOW + 600 + 1 days);
        _assertRemaining(300 * USD, 850 * USD, 0);
    }

    function test_remaining__an_action_that_spends_nothing_is_no_entry() public {
        _execute(vault, _give(5 * USD));
        _assertRemaining(DAILY, BUDGET + 5 * USD, 0);
    }

    function test_remaining__donations_are_not_own_cash() public {
        usdc.mint(address(vault), 5 * USD);
        _assertRemaining(DAILY, BUDGET, 0);
    }

    function test_remaining__after_withdrawals_and_fees__own_cash_is_what_is_left() public {
        relay.pushProceeds(address(vault), 100 * USD);
        _stop(vault);
        vm.prank(keeper);
        vault.settle();
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, 400 * USD);
        _assertRemaining(DAILY, BUDGET + 100 * USD - 10 * USD - 400 * USD, 0);
    }

    function test_remaining__withdrawn_donations_do_not_make_own_cash_negative() public {
        usdc.mint(address(vault), 100 * USD);
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET + 100 * USD);
        _assertRemaining(DAILY, 0, 0);
    }
}
