// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract PauseTest is ReserveTokenTest {
    function test_pause__only_the_pauser__unpause__only_the_admin() public {
        bytes32 role = token.PAUSER_ROLE();
        vm.prank(admin);
        vm.expectRevert(_missingRole(admin, role));
        token.pause();
        vm.prank(pauser);
        token.pause();
        assertTrue(token.paused());

        vm.prank(pauser);
        vm.expectRevert(_missingRole(pauser, 0));
        token.unpause();
        vm.prank(admin);
        token.unpause();
        assertTrue(_bought(USD) > 0);
    }
}
