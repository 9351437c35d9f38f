// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract BuyTest is UniswapV3Test {
    function test_buy__the_pool_gets_the_money_and_the_adapter_holds_the_token() public {
        uint256 before = usdc.balanceOf(address(pool));
        bytes memory answer = _execute(vault, _swapIn(100 * USD, 0.0399 ether));

        uint256 units = abi.decode(answer, (uint256));
        assertEq(units, 39_979_920_080_139_759);
        assertEq(_units(), units);
        assertEq(token.balanceOf(address(swaps)), units);
        assertEq(usdc.balanceOf(address(pool)), before + 100 * USD);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - 100 * USD);
        assertEq(usdc.balanceOf(address(swaps)), 0);
    }

    function test_buy__a_second_one_adds_to_the_position() public {
        _hold(100 * USD);
        uint256 first = _units();
        bytes memory answer = _execute(vault, _swapIn(50 * USD, 0));

        assertEq(_units(), first + abi.decode(answer, (uint256)));
    }

    function test_buy__with_USDC_as_the_pools_first_token() public {
        _useToken(_deployToken("TestToken.sol", false));
        _hold(100 * USD);

        _assertNear(_units(), 0.04 ether, 6); // the fee, and what the purchase moved
        _assertNear(_value(), 100 * USD, 8);
    }

    function test_buy__fewer_units_than_the_agent_accepts__reverts() public {
        _expectRevert(_underMinOut(39_979_920_080_139_759, 0.04 ether));
        _execute(vault, _swapIn(100 * USD, 0.04 ether));
    }

    function test_buy__within_the_loss_that_is_accepted__passes() public {
        market.moveTo(2_520 * USD);
        _hold(100 * USD);

        _assertNear(_value(), 99.2e6, 10);
    }

    function test_buy__above_that_loss__reverts_whatever_the_agent_accepts() public {
        market.moveTo(2_525 * USD);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapIn(100 * USD, 0));
    }

    function test_buy__of_nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _execute(vault, _swapIn(0, 0));
    }

    function test_buy__by_anyone_but_a_vault__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAVault.selector, owner));
        vm.prank(owner);
        swaps.buy(USD, 0);
    }
}
