// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract ReleaseTest is UniswapV3Test {
    function setUp() public override {
        super.setUp();
        _hold(100 * USD);
    }

    function test_release__while_the_mandate_works__reverts_for_agent_and_owner() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _execute(vault, _release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _unwind(_release());
    }

    function test_release__of_a_dead_pool__the_owner_withdraws_the_token() public {
        uint256 held = _units();
        vm.etch(address(pool), "");
        _stop(vault);
        _unwind(_release());
        vm.prank(owner);
        vault.withdraw(address(token), owner, held);

        assertEq(token.balanceOf(owner), held);
        assertEq(_units(), 0);
        assertEq(_value(), 0);
    }

    function test_release__twice__reverts() public {
        _stop(vault);
        _unwind(_release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _unwind(_release());
    }

    function test_release__leaves_another_vaults_units() public {
        terms.nonce += 1;
        MandateVault other = _createWorking();
        _execute(other, _swapIn(50 * USD, 0));
        uint256 theirs = swaps.positionOf(address(other));
        _stop(vault);
        _unwind(_release());

        assertEq(swaps.positionOf(address(other)), theirs);
        assertEq(token.balanceOf(address(swaps)), theirs);
    }

    function test_release__by_anyone_without_a_position__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vm.prank(thief);
        swaps.release();
    }
}
