// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SetPriceTest is Test {
    function test_setPrice__operator__moves_it() public {
        _expectEmit(address(venue));
        emit EventsLib.PriceSet(123);
        vm.prank(operator);
        venue.setPrice(123);
        assertEq(venue.priceE6(), 123);
    }

    function test_setPrice__others__revert() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOperator.selector, stranger));
        vm.prank(stranger);
        venue.setPrice(123);
    }

    function test_setPrice__zero__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vm.prank(operator);
        venue.setPrice(0);
    }

    function test_setPrice__beyond_96_bits__reverts() public {
        vm.startPrank(operator);
        _expectRevert(
            abi.encodeWithSignature("SafeCastOverflowedUintDowncast(uint8,uint256)", uint8(96), uint256(2 ** 96))
        );
        venue.setPrice(2 ** 96);
        venue.setPrice(2 ** 96 - 1);
        assertEq(venue.priceE6(), 2 ** 96 - 1);
    }
}
