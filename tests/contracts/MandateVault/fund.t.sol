// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract FundTest is Test {
    function test_fund__owner__reverts() public {
        MandateVault vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotFactory.selector, owner));
        vm.prank(owner);
        vault.fund(_pull(1));
    }

    function test_fund__factory_after_the_budget_is_in__reverts() public {
        MandateVault vault = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateFunded.selector, BUDGET));
        vm.prank(address(factory));
        vault.fund(_pull(1));
    }

    function test_fund__factory_after_a_stop__reverts() public {
        MandateVault vault = _createEmpty();
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vm.prank(address(factory));
        vault.fund(_pull(1));
    }
}
