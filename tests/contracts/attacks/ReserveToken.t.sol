// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

/// @notice The pitfalls that concern the reserve token: who gets what another's signature pays for, and what a gift or
/// the order of purchases can gain; and credit from nothing. Holding around another's purchase: ReserveTokenHolding.t.sol.
contract ReserveTokenAttacksTest is ReserveTokenTest {
    uint256 private constant MOST = 1e18; // a million million USDC
    bytes32 private constant ACCOUNT = "account-1";

    function setUp() public override {
        super.setUp();
        usdc.mint(owner, 10 * MOST);
    }

    function test_pitfall_15__relayer_of_a_purchase__cannot_redirect_or_reprice_it() public {
        bytes32 nonce = token.buyNonce(owner, owner, 50 * USD, 1, "salt");
        bytes memory signature = _authorization(OWNER_KEY, owner, address(token), 50 * USD, nonce);
        bytes[3] memory forged = [
            abi.encodeCall(
                token.buyWithAuthorization, (owner, thief, 50 * USD, 1, 0, NOW + 1 hours, "salt", signature)
            ),
            abi.encodeCall(
                    token.buyWithAuthorization, (owner, owner, 50 * USD, 0, 0, NOW + 1 hours, "salt", signature)
                ),
            abi.encodeCall(token.buyWithAuthorization, (owner, owner, 49 * USD, 1, 0, NOW + 1 hours, "salt", signature))
        ];
        for (uint256 i; i < forged.length; ++i) {
            vm.prank(thief);
            (bool passed,) = address(token).call(forged[i]);
            assertFalse(passed);
        }
        // Nor can it be taken out from under the purchase by transferWithAuthorization's nonce or payee.
        vm.prank(thief);
        (bool taken,) = address(usdc)
            .call(
                abi.encodeWithSignature(
                    "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
                    owner,
                    thief,
                    50 * USD,
                    0,
                    NOW + 1 hours,
                    nonce,
                    signature
                )
            );
        assertFalse(taken);
        vm.prank(thief);
        token.buyWithAuthorization(owner, owner, 50 * USD, 1, 0, NOW + 1 hours, "salt", signature);
        assertEq(token.balanceOf(thief), 0);
        assertTrue(token.balanceOf(owner) != 0);
    }

    /// @dev The first depositor's attack on shares: a gift that makes the next buyer's tokens round to nothing.
    function test_pitfall_18__gift_before_the_second_purchase__takes_nothing_from_the_second_buyer() public {
        vm.startPrank(owner);
        token.buy(1, 0, owner);
        assertTrue(usdc.transfer(address(token), MOST));
        uint256 out = token.buy(100 * USD, 0, stranger);
        vm.stopPrank();
        vm.assertLe(98 * USD, token.quoteRedeem(out));
    }

    function testFuzz_pitfall_18__gift__never_moves_what_a_holder_gets(uint256 amount, uint256 gift) public {
        vm.startPrank(owner);
        uint256 out = token.buy(1 + amount % MOST, 0, owner);
        uint256 worth = token.quoteRedeem(out);
        assertTrue(usdc.transfer(address(token), gift % MOST));
        assertEq(token.quoteRedeem(out), worth);
    }

    function testFuzz_pitfall_18__purchase_in_two_parts__never_gets_more(uint256 first, uint256 second) public {
        first = 1 + first % MOST;
        second = 1 + second % MOST;
        uint256 whole = token.quoteBuy(first + second);
        vm.startPrank(owner);
        uint256 parts = token.buy(first, 0, owner);
        if (token.quoteBuy(second) != 0) parts += token.buy(second, 0, owner);
        vm.assertLe(parts, whole);
    }

    // ------------------------------------------------------------------ conversions

    /// @dev While the share of converted tokens stayed in the reserve, it came back to the converter's other tokens: these
    /// steps gave 979,903 USDC of credit, at the price before, and 999,950 of the 1,000,000 USDC.
    function test_pitfall_33__converting_most_and_redeeming_the_rest__gains_nothing() public {
        vm.startPrank(owner);
        uint256 bought = token.buy(1_000_000 * USD, 0, owner);
        _unlock();
        uint256 most = bought * 98 / 100;
        assertEq(most * token.redeemPrice() / ONE, 979_903_921_568);

        uint256 credit = token.convert(most, ACCOUNT);
        uint256 back = token.redeem(bought - most, 0);

        assertEq(credit, 979_999_980_400);
        assertEq(back, 19_999_999_600);
        // Together 1,000,000 USDC less the two cents that the 2 % leave with the first 100 tokens.
        assertEq(credit + back, 1_000_000 * USD - 20_000);
        assertEq(token.treasuryOwed(), credit);
        assertEq(token.reserve(), 1_020_000);
    }

    function testFuzz_attack__convert_part_redeem_rest__gains_nothing(uint256 others, uint256 mine, uint256 part)
        public
    {
        _buyAs(stranger, 1 + others % MOST);
        vm.startPrank(owner);
        mine = 1 + mine % MOST;
        uint256 bought = token.buy(mine, 0, owner);
        part %= bought + 1;
        uint256 got;
        if (token.quoteRedeem(part) != 0) got += token.convert(part, ACCOUNT);
        uint256 rest = token.balanceOf(owner);
        if (token.quoteRedeem(rest) != 0) got += token.redeem(rest, 0);
        vm.assertLe(got, mine);
    }

    function testFuzz_attack__conversion__gives_another_holder_nothing(uint256 others, uint256 mine, uint256 part)
        public
    {
        uint256 held = _buyAs(stranger, 1 + others % MOST);
        vm.startPrank(owner);
        uint256 bought = token.buy(1 + mine % MOST, 0, owner);
        uint256 worth = token.quoteRedeem(held);
        part = 1 + part % bought;
        if (token.quoteRedeem(part) != 0) token.convert(part, ACCOUNT);
        // The rounding of one conversion is less than a base unit.
        vm.assertLe(worth, token.quoteRedeem(held));
        vm.assertLe(token.quoteRedeem(held), worth + 1);
    }

    function test_pitfall_34__frozen_treasury__holds_up_its_own_payment_only() public {
        _deployWithFreezableUSDC();
        _freeze(treasury, true);
        vm.startPrank(owner);
        token.buy(102 * USD, 0, owner);
        _unlock();
        assertEq(token.convert(5_000e18, ACCOUNT), 50_990_099);
        assertEq(token.redeem(5_000e18, 0), 50_990_099);
        assertEq(token.treasuryOwed(), 50_990_099);
        (bool passed,) = address(token).call(abi.encodeCall(token.payTreasury, ()));
        assertFalse(passed);
        token.buy(USD, 0, owner);
        vm.stopPrank();
        vm.prank(admin);
        token.proposeTreasury(address(0xBEEF));
    }

    /// @dev A holder that USDC has frozen cannot be paid, but is not locked in.
    function test_pitfall_34__frozen_holder__still_converts_and_transfers() public {
        _deployWithFreezableUSDC();
        vm.startPrank(owner);
        token.buy(102 * USD, 0, owner);
        _unlock();
        _freeze(owner, true);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Blacklistable: account is blacklisted"));
        token.redeem(ONE, 0);
        assertEq(token.convert(5_000e18, ACCOUNT), 50_990_099);
        assertTrue(token.transfer(stranger, 5_000e18));
    }

    function _buyAs(address recipient, uint256 amount) private returns (uint256 out) {
        vm.prank(owner);
        out = token.buy(amount, 0, recipient);
    }
}
