// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract UnpauseTest is Test {
    function test_unpause__admin__lets_everything_go_on() public {
        MandateVault vault = _createWorking();
        vm.prank(pauser);
        factory.pause();
        vm.prank(admin);
        factory.unpause();
        assertFalse(factory.paused());
        _execute(vault, _buy(1));
    }

    function test_unpause__pauser__reverts() public {
        vm.startPrank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", pauser, bytes32(0)));
        factory.unpause();
    }
}
