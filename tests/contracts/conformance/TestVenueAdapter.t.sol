// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./AdapterConformance.sol";

/// @dev Its price is its operator's word, so a trade of any size moves none.
contract TestVenueAdapterConformanceTest is AdapterConformance {
    function test_conformance__TestVenueAdapter() public {
        _conforms();
    }

    function _subject() internal view override returns (IAdapter) {
        return adapter;
    }

    function _open(MandateVault of_, uint256 amount) internal override {
        _execute(of_, _buy(amount));
    }

    function _closing(MandateVault of_) internal view override returns (Call memory) {
        return _sell(venue.positionOf(address(of_)));
    }

    function _push(address who, uint256 loan) internal override {
        vm.startPrank(who);
        usdc.approve(address(adapter), loan);
        adapter.buy(loan);
        adapter.sell(venue.positionOf(who) / 2);
        vm.stopPrank();
    }

    function _undo(address who) internal override {
        uint256 units = venue.positionOf(who);
        vm.prank(who);
        adapter.sell(units);
    }

    function _movePrice(uint256 priceE6) internal override {
        vm.prank(operator);
        venue.setPrice(priceE6);
    }

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (address(adapter), address(venue));
    }
}
