// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract AdapterRulesTest is Test {
    function test_rules__buy_is_a_valued_spend_and_sell_an_exit_in_sorted_order() public view {
        Rule[] memory list = adapter.rules();
        assertEq(list.length, 2);
        assertEq(
            abi.encode(list[0]),
            abi.encode(Rule(address(adapter), TestVenueAdapter.buy.selector, NO_PIN, KIND_VALUED_SPEND))
        );
        assertEq(
            abi.encode(list[1]), abi.encode(Rule(address(adapter), TestVenueAdapter.sell.selector, NO_PIN, KIND_EXIT))
        );
        assertTrue(uint32(list[0].selector) < uint32(list[1].selector));
    }

    function test_rules__can_be_signed_as_they_are() public {
        _clearRules();
        Rule[] memory list = adapter.rules();
        for (uint256 i; i < list.length; ++i) {
            rules.push(list[i]);
        }
        terms.allowedTargetsHash = keccak256(abi.encode(list));
        _execute(_createWorking(), _buy(USD));
    }
}
