// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./GasTest.sol";

/// @dev A steady agent: one action every 2,800 seconds, so that the 24 hours before each action hold 30 of them (the
/// 30th lies 84,000 s back, the 31st 86,800 s), and each action frees one entry and writes one.
contract ExecuteGas is GasTest {
    uint256 private constant STEP = 2_800;
    uint256 private constant ENTRIES = 30;
    /// @dev A multiple of 3: every third action writes a new word of the window.
    uint256 private constant ACTIONS = 90;
    uint256 private constant AMOUNT = 9 * USD;

    MandateVault private vault;
    uint256 private time = NOW;

    function setUp() public override {
        super.setUp();
        _draftThreeRules();
        vault = _createWorking();
    }

    function test_gas__execute_first__a_new_vault_and_its_first_position() public {
        _execute(vault, _buy(AMOUNT));
        _record("execute_first");
        assertEq(venue.positionOf(address(vault)), AMOUNT);
    }

    function test_gas__execute__buys_at_the_venue_with_30_entries_in_the_window() public {
        _fillTheWindow();
        for (uint256 i; i < ACTIONS; ++i) {
            _refill();
            _step();
            _assertEntries(AMOUNT);
            _execute(vault, _buy(AMOUNT));
            _record("execute");
        }
    }

    /// @dev Three batches, one for each place in a word of the window. A batch is one entry.
    function test_gas__execute_batch3__three_buys_with_30_entries_in_the_window() public {
        _fillTheWindow();
        for (uint256 i; i < 3; ++i) {
            _refill();
            _step();
            _assertEntries(AMOUNT);
            Call[] memory calls = _batch(_buy(AMOUNT / 3), _buy(AMOUNT / 3), _buy(AMOUNT / 3));
            vm.prank(agent);
            vault.executeBatch(calls);
            _record("execute_batch3");
        }
    }

    function _fillTheWindow() private {
        for (uint256 i; i <= ENTRIES; ++i) {
            _execute(vault, _buy(AMOUNT));
            if (i < ENTRIES) _step();
        }
    }

    /// @dev The clock of the test itself: under isolation block.timestamp is read before the first warp.
    function _step() private {
        time += STEP;
        vm.warp(time);
    }

    /// @dev Sells what was bought, so that own cash never binds. It spends nothing, so the window does not see it.
    function _refill() private {
        uint256 units = venue.positionOf(address(vault));
        if (units > 200 * USD) _execute(vault, _sell(units - USD));
    }

    function _assertEntries(uint256 each) private view {
        (, uint256 today,, uint256 freesAt) = vault.remaining();
        assertEq(DAILY - today, ENTRIES * each);
        assertEq(freesAt, time - ENTRIES * STEP + 1 days);
    }
}
