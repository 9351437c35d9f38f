// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract RulesTest is UniswapV3Test {
    function test_rules__buy_sell_and_release() public view {
        Rule[] memory list = swaps.rules();

        assertEq(list.length, 3);
        assertTrue(list[0].selector == CustodyAdapter.release.selector && list[0].kind == KIND_EXIT);
        assertTrue(list[1].selector == UniswapV3Adapter.buy.selector && list[1].kind == KIND_VALUED_SPEND);
        assertTrue(list[2].selector == UniswapV3Adapter.sell.selector && list[2].kind == KIND_EXIT);
    }

    function test_unitPrice__of_18_decimals__is_zero_and_not_linear() public view {
        assertEq(swaps.unitPrice(), 0); // 2.5e-9 USDC
        assertFalse(swaps.isLinear());
    }

    function test_unitPrice__of_a_token_that_is_dear_by_the_unit() public {
        usdc.mint(address(market), 1e20);
        _settle(1e21); // as one of six decimals at 1,000 USDC

        assertEq(swaps.unitPrice(), 999_999_339);
    }
}
