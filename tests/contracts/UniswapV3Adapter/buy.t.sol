// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract BuyTest is UniswapV3Test {
    function test_buy__the_pool_gets_the_money_and_the_adapter_holds_the_token() public {
        bytes memory answer = _execute(vault, _swapIn(100 * USD, 0.0399 ether));

        uint256 units = abi.decode(answer, (uint256));
        _assertNear(units, 0.04 ether, 6); // the pool's fee, and what the purchase moved
        assertEq(_units(), units);
        assertEq(token.balanceOf(address(swaps)), units);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - 100 * USD);
        assertEq(usdc.balanceOf(address(swaps)), 0);
        _assertNear(_value(), 100 * USD, 8);
    }
}
