// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract ReleaseTest is Erc4626Test {
    function setUp() public override {
        super.setUp();
        _lend(100 * USD);
    }

    function test_release__while_the_mandate_works__reverts_for_agent_and_owner() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _execute(vault, _release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _unwind(_release());
    }

    function test_release__of_a_pool_that_pays_nobody__the_owner_withdraws_the_shares() public {
        pool.setPaused(true);
        pool.setSilent(true);
        _stop(vault);
        _unwind(_release());
        vm.prank(owner);
        vault.withdraw(address(pool), owner, 100 * USD * SHARES);

        assertEq(pool.balanceOf(owner), 100 * USD * SHARES);
        assertEq(lending.positionOf(address(vault)), 0);
        assertEq(_value(), 0);
    }

    function test_release__twice__reverts() public {
        _stop(vault);
        _unwind(_release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _unwind(_release());
    }

    function test_release__by_anyone_without_a_position__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vm.prank(thief);
        lending.release();
    }
}
