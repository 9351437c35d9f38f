// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract RulesTest is Erc4626Test {
    function test_rules__lend_redeem_and_release() public view {
        Rule[] memory list = lending.rules();

        assertEq(list.length, 3);
        assertTrue(list[0].selector == Erc4626Adapter.redeem.selector && list[0].kind == KIND_EXIT);
        assertTrue(list[1].selector == CustodyAdapter.release.selector && list[1].kind == KIND_EXIT);
        assertTrue(list[2].selector == Erc4626Adapter.deposit.selector && list[2].kind == KIND_VALUED_SPEND);
    }

    function test_unitPrice__is_the_pools_rate_and_not_linear() public {
        assertEq(lending.unitPrice(), 1);
        usdc.mint(address(pool), 2 * BUDGET);

        assertEq(lending.unitPrice(), 2); // 2.999999 rounded down
        assertFalse(lending.isLinear());
    }
}
