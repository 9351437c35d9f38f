// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract CloseTest is Test {
    function setUp() public override {
        super.setUp();
        vm.prank(address(adapter));
        venue.open(stranger, 10 * USD);
    }

    function _close(uint256 units) private returns (uint256) {
        vm.prank(address(adapter));
        return venue.close(stranger, units);
    }

    function test_close__pays_the_holder_at_the_price() public {
        vm.prank(operator);
        venue.setPrice(1_500_000);
        _expectEmit(address(venue));
        emit EventsLib.PositionClosed(stranger, 6 * USD, 4 * USD, 1_500_000);
        assertEq(_close(4 * USD), 6 * USD);
        assertEq(venue.positionOf(stranger), 6 * USD);
        assertEq(usdc.balanceOf(stranger), 6 * USD);
    }

    function test_close__payout_is_rounded_down() public {
        vm.prank(operator);
        venue.setPrice(1_999_999);
        assertEq(_close(1), 1);
        assertEq(venue.valueOf(stranger), (10 * USD - 1) * 1_999_999 / USD);
    }

    function test_close__the_whole_position__passes() public {
        assertEq(_close(10 * USD), 10 * USD);
        assertEq(venue.positionOf(stranger), 0);
        assertEq(venue.valueOf(stranger), 0);
    }

    function test_close__more_than_the_position__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, 10 * USD + 1, 10 * USD));
        _close(10 * USD + 1);
    }

    function test_close__nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _close(0);
    }

    function test_close__more_than_the_venue_holds__reverts_and_keeps_the_position() public {
        uint256 liquidity = usdc.balanceOf(address(venue));
        vm.prank(operator);
        venue.setPrice(liquidity);
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientBalance(address,uint256,uint256)", address(venue), liquidity, 10 * liquidity
            )
        );
        _close(10 * USD);
        assertEq(venue.positionOf(stranger), 10 * USD);
    }

    function test_close__others__revert() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, stranger));
        vm.prank(stranger);
        venue.close(stranger, 1);
    }
}
