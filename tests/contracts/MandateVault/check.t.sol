// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice `check` and `requireExecutable` answer what execute would be refused with, for every refusal there is.
contract CheckTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    /// @dev All four agree: check, requireExecutable, executeBatch, and execute when there is one call.
    function _assertRefused(Call[] memory calls, bytes memory reason) private {
        assertEq(vault.check(calls), reason);
        _expectRevert(reason);
        vault.requireExecutable(calls);
        _expectRevert(reason);
        vm.prank(agent);
        vault.executeBatch(calls);
        if (calls.length != 1) return;
        _expectRevert(reason);
        vm.prank(agent);
        vault.execute(calls[0]);
    }

    function test_check__allowed__is_empty_and_executes() public {
        Call[] memory calls = _batch(_buy(60 * USD), _sell(10 * USD), _take(40 * USD));
        assertEq(vault.check(calls), "");
        vault.requireExecutable(calls);
        vm.prank(agent);
        vault.executeBatch(calls);
    }

    function test_check__anyone_may_ask() public {
        vm.prank(stranger);
        assertEq(vault.check(_batch(_buy(1))), "");
    }

    function test_check__over_per_tx_cap() public {
        _assertRefused(
            _batch(_buy(PER_TX + 1)), abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX)
        );
        _assertRefused(
            _batch(_buy(PER_TX), _take(1)), abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX)
        );
    }

    function test_check__over_daily_cap_until_the_window_frees() public {
        _execute(vault, _buy(PER_TX));
        vm.warp(NOW + 60);
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        vm.warp(NOW + 1 days - 1);
        _assertRefused(_batch(_buy(1)), abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, uint256(1), uint256(0)));
        vm.warp(NOW + 1 days);
        assertEq(vault.check(_batch(_buy(PER_TX))), "");
    }

    function test_check__over_budget() public {
        terms.perTxCap = BUDGET;
        terms.dailyCap = BUDGET;
        vault = _createWorking();
        _execute(vault, _buy(BUDGET - 3));
        vm.warp(NOW + 1 days);
        assertEq(vault.check(_batch(_buy(3))), "");
        _assertRefused(_batch(_buy(4)), abi.encodeWithSelector(ErrorsLib.OverBudget.selector, uint256(4), uint256(3)));
    }

    function test_check__target_not_allowed() public {
        _assertRefused(
            _batch(Call(address(usdc), 0, "")),
            abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(usdc), bytes4(0))
        );
    }

    function test_check__recipient_not_the_vault() public {
        _assertRefused(
            _batch(_buy(1), _giveTo(1, thief)),
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint8(1),
                bytes32(uint256(uint160(thief)))
            )
        );
    }

    function test_check__calldata_too_short() public {
        _assertRefused(
            _batch(Call(address(hostile), 0, abi.encodeWithSelector(HostileVenue.giveTo.selector, uint256(1)))),
            abi.encodeWithSelector(
                ErrorsLib.CalldataTooShort.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint256(36),
                uint256(68)
            )
        );
    }

    function test_check__empty_batch() public {
        _assertRefused(new Call[](0), abi.encodeWithSelector(ErrorsLib.EmptyBatch.selector));
    }

    function test_check__paused() public {
        vm.prank(pauser);
        factory.pause();
        _assertRefused(_batch(_buy(1)), abi.encodeWithSelector(ErrorsLib.MandatePaused.selector));
    }

    function test_check__ended_to_the_second() public {
        vm.warp(ENDS_AT - 1);
        assertEq(vault.check(_batch(_buy(1))), "");
        vm.warp(ENDS_AT);
        _assertRefused(_batch(_buy(1)), abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
    }

    function test_check__stopped() public {
        _stop(vault);
        _assertRefused(_batch(_buy(1)), abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
    }

    function test_check__not_funded() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _assertRefused(_batch(_buy(1)), abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
    }

    function test_check__removed_agent__names_that_there_is_none() public {
        vm.prank(owner);
        vault.removeAgent();
        assertEq(vault.check(_batch(_buy(1))), abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
    }

    function test_check__short_of_gas__fails_and_never_says_allowed() public view {
        Call[] memory calls = new Call[](60);
        for (uint256 i; i < 59; ++i) {
            calls[i] = _sell(1);
        }
        calls[59] = Call(address(usdc), 0, "");
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, address(usdc), bytes4(0));
        bytes memory question = abi.encodeCall(vault.check, (calls));
        uint256 failed;
        for (uint256 gasLimit = 50_000; gasLimit < 500_000; gasLimit += 5_000) {
            (bool answered, bytes memory answer) = address(vault).staticcall{gas: gasLimit}(question);
            if (!answered) ++failed;
            else assertEq(abi.decode(answer, (bytes)), reason);
        }
        assertTrue(failed > 0 && failed < 90);
    }

    function testFuzz_check__agrees_with_executeBatch(uint256 first, uint256 second, uint256 elapsed) public {
        _execute(vault, _buy(PER_TX));
        vm.warp(NOW + elapsed % 2 days);
        _execute(vault, _buy(PER_TX));
        Call[] memory calls = _batch(_buy(1 + first % (PER_TX * 11 / 10)), _take(1 + second % (PER_TX / 10)));
        bytes memory reason = vault.check(calls);
        if (reason.length != 0) _expectRevert(reason);
        vm.prank(agent);
        vault.executeBatch(calls);
    }
}
