// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract LockTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _assertLock(bool withdrawable, bytes32 reason, uint64 until) private view {
        (bool withdrawable_, bytes32 reason_, uint64 until_) = vault.lock();
        assertTrue(withdrawable_ == withdrawable);
        assertEq(reason_, reason);
        assertEq(uint256(until_), until);
    }

    function test_lock__working__until_the_grace_is_over() public view {
        _assertLock(false, "working", GRACE_END);
    }

    function test_lock__last_second_of_work() public {
        vm.warp(ENDS_AT - 1);
        _assertLock(false, "working", GRACE_END);
    }

    function test_lock__first_and_last_second_of_the_grace() public {
        vm.warp(ENDS_AT);
        _assertLock(false, "settle_grace", GRACE_END);
        vm.warp(GRACE_END - 1);
        _assertLock(false, "settle_grace", GRACE_END);
    }

    function test_lock__after_the_grace__is_open() public {
        vm.warp(GRACE_END);
        _assertLock(true, 0, 0);
    }

    function test_lock__stopped__is_open() public {
        _stop(vault);
        _assertLock(true, 0, 0);
    }

    function test_lock__emptied__has_nothing_left() public {
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        _assertLock(false, "nothing_left", 0);
    }

    function test_lock__only_the_fee_is_left__has_nothing_left() public {
        relay.pushProceeds(address(vault), 100 * USD);
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET + 90 * USD);
        _assertLock(false, "nothing_left", 0);
        usdc.mint(address(vault), 1);
        _assertLock(true, 0, 0);
    }

    function test_lock__funding__is_open_when_there_is_something() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _assertLock(false, "nothing_left", 0);
        vm.prank(owner);
        vault.deposit(1);
        _assertLock(true, 0, 0);
    }
}
