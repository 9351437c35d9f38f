// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";
import {ReserveTokenHandler} from "./ReserveTokenHandler.sol";

/// @title Invariants of the reserve token
/// @notice What holds after any sequence of purchases, redemptions, conversions, payments to the treasury, gifts,
/// transfers, pauses and freezes of the treasury, and whatever time passes.
/// forge-config: default.invariant.fail-on-revert = true
contract ReserveTokenInvariantsTest is ReserveTokenTest {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    ReserveTokenHandler private handler;

    function setUp() public override {
        _deployHouse("LedgerUSDC.sol");
        token = _deployToken();
        handler = ReserveTokenHandler(vm.deployCode("ReserveTokenHandler.sol"));
        handler.build(token, LedgerUSDC(address(usdc)));
    }

    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory list) {
        list = new FuzzSelector[](1);
        list[0] = FuzzSelector(address(handler), handler.actions());
    }

    /// 15. The price never falls and is never below 0.01 USDC; buying costs more than redeeming gives.
    function invariant_15_the_price_never_falls() external view {
        assertEq(handler.falls(), 0);
        vm.assertLe(10_000, token.redeemPrice());
        vm.assertLt(token.redeemPrice(), token.buyPrice());
    }

    /// 15. What is locked is a part of the reserve, only purchases add to it, and no end comes nearer or is more than 24
    /// hours away.
    function invariant_15_what_is_locked_unlocks_within_a_day() external {
        (uint256 locked, uint256 until) = token.locked();
        vm.assertLt(locked, token.reserve());
        vm.assertLe(until, (block.timestamp + 24 hours) * 1e9);
        assertEq(handler.hastes(), 0);
        uint256 time = block.timestamp;
        _unlock();
        assertEq(_lockedNow(), 0);
        vm.warp(time);
    }

    /// 15. The reserve is what was paid less what was redeemed and converted; what was converted and not yet paid is owed
    /// to the treasury; both are there, and what is more in the balance are gifts.
    function invariant_15_the_reserve_is_there_to_the_base_unit() external view {
        assertEq(token.reserve(), handler.paid() - handler.returned() - handler.credited());
        assertEq(token.treasuryOwed(), handler.credited() - handler.swept());
        assertEq(usdc.balanceOf(token.treasury()), handler.swept());
        assertEq(usdc.balanceOf(address(token)), token.reserve() + token.treasuryOwed() + handler.donated());
        assertEq(handler.shifts(), 0);
    }

    /// 15. All tokens together can be redeemed: the worth of every balance is never above the reserve.
    function invariant_15_everybody_can_leave() external view {
        assertEq(token.totalSupply(), handler.sumOfBalances());
        vm.assertLe(token.quoteRedeem(token.totalSupply()), token.reserve());
        vm.assertLe(SEED, token.totalSupply());
        assertEq(handler.refusals(), 0);
    }

    /// 15. Nobody profits by a round trip, a gift of others or oneself, or an office that is not one's own.
    function invariant_15_nobody_profits_at_the_others_cost() external view {
        assertEq(handler.profits(), 0);
        assertEq(LedgerUSDC(address(usdc)).openAllowances(address(token)), 0);
    }

    /// 15. A holder's USDC, credit and tokens at their share of the whole reserve are together never worth more than what
    /// the holder began with and was given, its part of the 2 % that others paid, and of what others left.
    function invariant_15_nobody_has_more_than_was_paid_and_the_markups_of_others() external view {
        address[3] memory holders = handler.holders();
        for (uint256 i; i < holders.length; ++i) {
            vm.assertLe(handler.fortuneOf(holders[i]), handler.entitled(holders[i]));
        }
    }

    /// 15. All of them together, with what backs the first 100 tokens, never have more than all began with.
    function invariant_15_together_they_have_what_was_paid() external view {
        address[3] memory holders = handler.holders();
        uint256 have = token.reserve();
        for (uint256 i; i < holders.length; ++i) {
            have += usdc.balanceOf(holders[i]) + handler.creditOf(holders[i]);
        }
        vm.assertLe(have, handler.began() + USD);
        vm.assertLe(token.reserve() + token.treasuryOwed(), usdc.balanceOf(address(token)));
    }

    /// Eight fixed sequences of 100 actions pass every door, and no action of the handler fails by itself.
    function test_handler__every_action_succeeds_at_least_once() public {
        bytes4[] memory actions = handler.actions();
        for (uint256 i; i < 800; ++i) {
            bytes32 word = keccak256(abi.encode("a fixed sequence", i));
            bytes memory data = abi.encodePacked(
                actions[uint256(word) % actions.length],
                keccak256(abi.encode(word, 1)),
                keccak256(abi.encode(word, 2)),
                keccak256(abi.encode(word, 3))
            );
            (bool passed,) = address(handler).call(data);
            assertTrue(passed);
        }
        bytes32[12] memory doors = handler.doors();
        for (uint256 d; d < doors.length; ++d) {
            vm.assertLt(0, handler.done(doors[d]));
        }
    }
}
