// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract X402RulesTest is Test {
    function test_rules__pay_is_a_cost() public view {
        Rule[] memory list = x402.rules();
        assertEq(list.length, 1);
        assertEq(abi.encode(list[0]), abi.encode(Rule(address(x402), X402Adapter.pay.selector, NO_PIN, KIND_COST)));
    }

    function test_valueOf__costs_have_no_worth() public view {
        assertEq(x402.valueOf(owner), 0);
    }

    function test_positionOf__a_cost_is_no_position() public view {
        assertEq(x402.positionOf(owner), 0);
    }

    function test_unitPrice__without_positions_there_is_none() public view {
        assertEq(x402.unitPrice(), 0);
    }

    function test_isLinear__nothing_is_worth_nothing() public view {
        assertTrue(x402.isLinear());
    }
}
