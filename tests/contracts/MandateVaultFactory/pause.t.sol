// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract PauseTest is Test {
    function test_pause__pauser__gates_creation_and_execution() public {
        MandateVault vault = _createWorking();
        vm.prank(pauser);
        factory.pause();
        assertTrue(factory.paused());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandatePaused.selector));
        _execute(vault, _buy(1));
    }

    function test_pause__others__revert() public {
        bytes32 role = factory.PAUSER_ROLE();
        address[4] memory others = [admin, keeper, keeperAdmin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", others[i], role));
            vm.prank(others[i]);
            factory.pause();
        }
    }
}
