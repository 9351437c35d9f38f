// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract PositionOfTest is Test {
    function test_positionOf__is_what_the_venue_holds_for_the_vault() public {
        MandateVault vault = _createWorking();
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(vault, _buy(10 * USD));
        assertEq(adapter.positionOf(address(vault)), 5 * USD);
    }

    function test_positionOf__a_vault_without_a_position__is_zero() public view {
        assertEq(adapter.positionOf(stranger), 0);
    }

    function test_positionOf__is_each_holders_own() public {
        _execute(_createWorking(), _buy(10 * USD));
        assertEq(adapter.positionOf(owner), 0);
    }
}
