// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ReserveToken} from "../../../contracts/ReserveToken.sol";
import {ReserveTokenTest} from "../base/ReserveTokenTest.sol";
import "./GasTest.sol";

/// @dev A token that others hold already; the buyer holds some too, as buyers at steady state do.
contract ReserveTokenGas is ReserveTokenTest, GasTest {
    function setUp() public override(Test, ReserveTokenTest) {
        ReserveTokenTest.setUp();
        _bought(100 * USD);
    }

    function test_gas__buy__from_an_allowance_by_a_holder() public {
        _bought(10 * USD);
        _record("buy");
        assertEq(token.reserve(), 111 * USD);
    }

    function test_gas__redeem__a_part_of_what_is_held() public {
        vm.prank(owner);
        token.redeem(1_000e18, 0);
        _record("redeem");
        assertTrue(token.reserve() < 101 * USD);
    }

    function test_gas__convert__a_part_of_what_is_held() public {
        vm.prank(owner);
        token.convert(1_000e18, "account-1");
        _record("convert");
        assertEq(token.reserve() + token.treasuryOwed(), 101 * USD);
    }
}
