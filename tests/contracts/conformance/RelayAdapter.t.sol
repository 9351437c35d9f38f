// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {RelayAdapter} from "../../../contracts/adapters/RelayAdapter.sol";
import "./AdapterConformance.sol";

/// @dev It only brings money in, and only the relay does.
contract RelayAdapterConformanceTest is AdapterConformance {
    function test_conformance__RelayAdapter() public {
        _conforms();
    }

    function _subject() internal override returns (IAdapter) {
        address made = vm.deployCode("RelayAdapter.sol:RelayAdapter", abi.encode(address(usdc), operator));
        vm.prank(admin);
        factory.listAdapter(made);
        usdc.mint(operator, LOAN);
        vm.prank(operator);
        usdc.approve(made, LOAN);
        return IAdapter(made);
    }

    function _holdsPositions() internal pure override returns (bool) {
        return false;
    }

    function _open(MandateVault of_, uint256 amount) internal override {
        vm.prank(operator);
        RelayAdapter(address(subject)).deliver(address(of_), amount);
    }

    /// @dev Nobody but the relay delivers; anyone may pay into it.
    function _push(address who, uint256 loan) internal override {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotRelay.selector, who));
        vm.prank(who);
        RelayAdapter(address(subject)).deliver(address(vault), loan);
        vm.prank(who);
        usdc.transfer(address(subject), loan);
    }

    function _undo(address) internal override {}

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (address(subject), operator);
    }
}
