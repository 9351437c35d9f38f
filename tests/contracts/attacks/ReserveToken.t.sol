// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

/// @notice The pitfalls that concern the reserve token: who gets what another's signature pays for, and what a gift or
/// the order of purchases can gain.
contract ReserveTokenAttacksTest is ReserveTokenTest {
    uint256 private constant MOST = 1e18; // a million million USDC

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

    function testFuzz_pitfall_18__purchase_around_anothers__never_profits(uint256 mine, uint256 theirs) public {
        vm.startPrank(owner);
        mine = 1 + mine % MOST;
        uint256 out = token.buy(mine, 0, owner);
        theirs = 1 + theirs % MOST;
        // What another pays on top of the share is spread over all who hold: at most 2 % of that purchase.
        if (token.quoteBuy(theirs) != 0) token.buy(theirs, 0, stranger);
        vm.assertLe(token.quoteRedeem(out), mine + theirs * 2 / 102 + 1);
    }
}
