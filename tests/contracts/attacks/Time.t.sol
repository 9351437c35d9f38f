// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice Pitfalls 5 and 22: every edge in time, one second before, at, and one second after.
contract TimeAttacksTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _left() private view returns (uint256 today) {
        (, today,,) = vault.remaining();
    }

    function _spendTheDay() private {
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _take(100 * USD));
        }
    }

    // ------------------------------------------------------------------ 5 the window

    function test_pitfall_05__two_days_allowances_around_any_border__do_not_fit_into_one_day() public {
        // Midnight, the border that fixed days reset at: 1,800,000,000 is 08:00 UTC.
        vm.warp(NOW + 16 hours - 1);
        _spendTheDay();
        vm.warp(NOW + 16 hours);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, uint256(1), uint256(0)));
        _execute(vault, _take(1));
    }

    function test_pitfall_05__removing_and_setting_the_agent__wipes_no_use() public {
        _spendTheDay();
        vm.startPrank(owner);
        vault.removeAgent();
        vault.setAgent(agent);
        vm.stopPrank();
        assertEq(_left(), 0);
    }

    function test_pitfall_05__pausing_and_unpausing__wipes_no_use() public {
        _spendTheDay();
        vm.prank(pauser);
        factory.pause();
        vm.prank(admin);
        factory.unpause();
        assertEq(_left(), 0);
    }

    function testFuzz_pitfall_05__spends_at_random_seconds__never_sum_above_the_cap(uint256 seed) public {
        uint256[24] memory times;
        uint256[24] memory amounts;
        uint256 time = NOW;
        for (uint256 i; i < 24; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            time += seed % 5 hours;
            vm.warp(time);
            uint256 left = _left();
            uint256 amount = seed % 3 == 0 ? left : (seed >> 8) % (PER_TX + 1);
            if (amount > PER_TX) amount = PER_TX;
            if (amount > left) amount = left;
            (,, uint256 total,) = vault.remaining();
            if (amount > total) break;
            _execute(vault, _take(amount));
            (times[i], amounts[i]) = (time, amount);
            uint256 sum;
            for (uint256 j; j <= i; ++j) {
                if (times[j] + 1 days > time) sum += amounts[j];
            }
            vm.assertLe(sum, DAILY);
            assertEq(_left(), DAILY - sum);
        }
    }

    // ------------------------------------------------------------------ 22 edges

    function test_pitfall_22__window__is_counted_for_86399_seconds_and_free_at_86400() public {
        _spendTheDay();
        vm.warp(NOW + 1 days - 1);
        assertEq(_left(), 0);
        vm.warp(NOW + 1 days);
        assertEq(_left(), DAILY);
    }

    function test_pitfall_22__end__is_exclusive_for_the_agent() public {
        vm.warp(ENDS_AT - 1);
        _execute(vault, _take(1));
        for (uint64 late; late < 2; ++late) {
            vm.warp(ENDS_AT + late);
            _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
            _execute(vault, _take(1));
        }
    }

    function test_pitfall_22__end__is_exclusive_for_deposits() public {
        terms.nonce = 2;
        vault = _createEmpty();
        vm.warp(ENDS_AT - 1);
        vm.prank(owner);
        vault.deposit(1);
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vm.prank(owner);
        vault.deposit(1);
    }

    function test_pitfall_22__owners_stop__is_refused_from_the_end_to_the_last_second_of_the_grace() public {
        uint64[2] memory refused = [ENDS_AT, GRACE_END - 1];
        for (uint256 i; i < 2; ++i) {
            vm.warp(refused[i]);
            _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
            vm.prank(owner);
            vault.stop("owner_stop");
        }
        uint256 snapshot = vm.snapshotState();
        vm.warp(ENDS_AT - 1);
        _stop(vault);
        vm.revertToState(snapshot);
        vm.warp(GRACE_END);
        _stop(vault);
    }

    function test_pitfall_22__anyones_settlement__waits_for_the_whole_grace() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, GRACE_END));
        vm.prank(stranger);
        vault.settle();
        vm.warp(GRACE_END);
        vm.prank(stranger);
        vault.settle();
    }

    function test_pitfall_22__authorization__is_strict_on_both_sides() public {
        terms.nonce = 2;
        vault = _createEmpty();
        uint256[3] memory seconds_ = [uint256(NOW) + 10, NOW + 11, NOW + 19];
        for (uint256 i; i < 3; ++i) {
            bytes memory data = _depositBetween(NOW + 10, NOW + 20, bytes32(i));
            vm.warp(seconds_[i]);
            (bool passed,) = address(vault).call(data);
            assertEq(passed ? 1 : 0, i == 0 ? 0 : 1);
        }
        vm.warp(NOW + 20);
        (bool late,) = address(vault).call(_depositBetween(NOW + 10, NOW + 20, "late"));
        assertFalse(late);
    }

    function _depositBetween(uint256 validAfter, uint256 validBefore, bytes32 salt)
        private
        view
        returns (bytes memory)
    {
        bytes32 nonce = vault.depositNonce(owner, 1, salt);
        bytes32 structHash = keccak256(
            abi.encode(
                usdc.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(), owner, address(vault), 1, validAfter, validBefore, nonce
            )
        );
        bytes memory signature = _sign(OWNER_KEY, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash));
        return abi.encodeCall(vault.depositWithAuthorization, (owner, 1, validAfter, validBefore, salt, signature));
    }

    function test_pitfall_22__handover__opens_at_eta_and_closes_after_seven_days_to_the_second() public {
        vm.prank(keeperAdmin);
        factory.proposeKeeper(stranger);
        uint64 eta = NOW + 48 hours;
        _expectAccept(eta - 1, abi.encodeWithSelector(ErrorsLib.ProposalTooEarly.selector, eta));
        _expectAccept(eta, "");
        _expectAccept(eta + 7 days, "");
        _expectAccept(eta + 7 days + 1, abi.encodeWithSelector(ErrorsLib.ProposalExpired.selector, eta + 7 days));
    }

    function _expectAccept(uint64 time, bytes memory refusal) private {
        uint256 snapshot = vm.snapshotState();
        vm.warp(time);
        if (refusal.length != 0) _expectRevert(refusal);
        vm.prank(stranger);
        factory.acceptKeeper();
        if (refusal.length == 0) assertEq(factory.keeper(), stranger);
        vm.revertToState(snapshot);
    }
}
