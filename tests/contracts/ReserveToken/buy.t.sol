// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract BuyTest is ReserveTokenTest {
    function test_buy__at_the_start__costs_102_percent_of_the_share() public {
        uint256 out = uint256(102 * USD) * SEED * 100 / (USD * 102);
        assertEq(out, 10_000e18);
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.Bought(owner, stranger, 102 * USD, out, 10_200);
        vm.prank(owner);
        assertEq(token.buy(102 * USD, out, stranger), out);

        assertEq(token.balanceOf(stranger), out);
        assertEq(token.reserve(), 103 * USD);
        assertEq(usdc.balanceOf(address(token)), 103 * USD);
    }

    function test_buy__raises_the_price_for_those_who_hold__a_day_later() public {
        _bought(102 * USD);
        assertEq(token.redeemPrice(), 10_000);
        _unlock();
        // 103 USDC back 10,100 tokens: 0.010198... rounded down.
        assertEq(token.redeemPrice(), 10_198);
    }

    function test_buy__what_is_quoted_is_what_comes_out() public {
        _bought(7 * USD);
        uint256 quoted = token.quoteBuy(13 * USD);
        assertEq(_bought(13 * USD), quoted);
    }

    function test_buy__min_out_is_met_exactly__and_one_more_reverts() public {
        uint256 quoted = token.quoteBuy(5 * USD);
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.UnderMinOut.selector, quoted, quoted + 1));
        token.buy(5 * USD, quoted + 1, owner);
        vm.prank(owner);
        assertEq(token.buy(5 * USD, quoted, owner), quoted);
    }

    function test_buy__nothing__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.buy(0, 0, owner);
    }

    function test_buy__an_amount_that_buys_less_than_one_unit__reverts() public {
        // A share so dear that a base unit of USDC buys nothing: 1e21 base units of USDC back the seed's tokens.
        VmStore(address(vm)).store(address(token), _reserveSlot(), bytes32(uint256(1e21) << 8));
        assertEq(token.reserve(), 1e21);
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.buy(1, 0, owner);
    }

    /// @dev The slot that holds the reserve, above a byte for the pause, found by its value.
    function _reserveSlot() private view returns (bytes32 slot) {
        for (uint256 n; n < 20; ++n) {
            if (VmStore(address(vm)).load(address(token), bytes32(n)) == bytes32(USD << 8)) return bytes32(n);
        }
        revert("no slot holds the reserve");
    }

    function test_buy__fills_the_reserve_to_120_bits__and_one_unit_more_reverts() public {
        uint256 max = type(uint120).max;
        usdc.mint(owner, max);
        _bought(max - USD);
        assertEq(token.reserve(), max);
        assertEq(token.treasuryOwed(), 0);
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSignature("SafeCastOverflowedUintDowncast(uint8,uint256)", uint8(120), max + 1));
        token.buy(1, 0, owner);
    }

    function test_buy__for_nobody_or_for_the_token__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        token.buy(USD, 0, address(0));
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(token)));
        token.buy(USD, 0, address(token));
    }

    function test_buy__while_paused__reverts() public {
        vm.prank(pauser);
        token.pause();
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        token.buy(USD, 0, owner);
    }

    function test_buy__a_donation_before__moves_no_price() public {
        uint256 quoted = token.quoteBuy(10 * USD);
        usdc.mint(address(token), 1_000 * USD);
        assertEq(token.redeemPrice(), 10_000);
        assertEq(_bought(10 * USD), quoted);
    }

    function testFuzz_buy__then_redeem__never_profits_and_never_lowers_the_price(uint256 first, uint256 amount) public {
        first = 1 + first % (1_000 * USD);
        amount = 2 + amount % (1_000 * USD); // a single base unit would redeem for nothing, which reverts
        _bought(first);
        uint256 price = token.redeemPrice();
        uint256 out = _bought(amount);
        vm.prank(owner);
        uint256 back = token.redeem(out, 0);

        // 100 / 102 of it at most, and the rounding of two purchases.
        vm.assertLe(back * 102, amount * 100 + 2 * 102);
        assertTrue(back < amount);
        assertTrue(token.redeemPrice() >= price);
    }
}

interface VmStore {
    function store(address account, bytes32 slot, bytes32 value) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
}
