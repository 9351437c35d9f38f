// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract DepositTest is Erc4626Test {
    function test_deposit__the_pool_gets_the_money_and_the_adapter_holds_the_shares() public {
        bytes memory answer = _execute(vault, _deposit(100 * USD, 100 * USD * SHARES));

        assertEq(abi.decode(answer, (uint256)), 100 * USD * SHARES);
        assertEq(lending.positionOf(address(vault)), 100 * USD * SHARES);
        assertEq(pool.balanceOf(address(lending)), 100 * USD * SHARES);
        assertEq(usdc.balanceOf(address(pool)), BUDGET + 100 * USD);
        assertEq(usdc.balanceOf(address(lending)), 0);
        assertEq(_value(), 100 * USD);
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET);
    }

    function test_deposit__a_second_one_adds_to_position_and_ceiling() public {
        _lend(100 * USD);
        _lend(50 * USD);

        assertEq(lending.positionOf(address(vault)), 150 * USD * SHARES);
        assertEq(lending.ceilingOf(address(vault)), 150 * USD);
    }

    function test_deposit__fewer_shares_than_the_agent_accepts__reverts() public {
        _expectRevert(_underMinOut(USD * SHARES, USD * SHARES + 1));
        _execute(vault, _deposit(USD, USD * SHARES + 1));
    }

    function test_deposit__at_the_loss_that_is_accepted__passes() public {
        pool.setFees(LOSS_BPS, 0);
        _lend(100 * USD);

        assertEq(_value(), 99_500_000);
    }

    function test_deposit__above_that_loss__reverts_whatever_the_agent_accepts() public {
        pool.setFees(LOSS_BPS + 1, 0);
        _expectRevert(_underMinOut(99_490_000, 99_500_000));
        _execute(vault, _deposit(100 * USD, 0));
    }

    function test_deposit__of_nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _execute(vault, _deposit(0, 0));
    }

    function test_deposit__by_anyone_but_a_vault__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAVault.selector, owner));
        vm.prank(owner);
        lending.deposit(USD, 0);
    }

    function test_deposit__shares_and_USDC_that_somebody_sends__are_nobodys_position() public {
        _lend(100 * USD);
        vm.startPrank(stranger);
        pool.transfer(address(lending), 10 * USD * SHARES);
        vm.stopPrank();
        usdc.mint(address(lending), 10 * USD);
        _lend(USD);

        assertEq(lending.positionOf(address(vault)), 101 * USD * SHARES);
        assertEq(_value(), 101 * USD);
    }
}
