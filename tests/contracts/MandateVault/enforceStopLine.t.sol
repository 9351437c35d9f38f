// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract EnforceStopLineTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _loseTo(uint256 priceE6) private {
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(100 * USD));
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(priceE6);
    }

    /// @dev 700 USDC of cash and a position that the adapter values as told.
    function _holdPositionWorth(uint256 value) private {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        Call memory take = Call(address(relay), PER_TX, abi.encodeCall(MockRelayAdapter.take, (PER_TX)));
        _execute(vault, take);
        _execute(vault, take);
        _execute(vault, take);
        relay.setValue(address(vault), value);
    }

    function test_enforceStopLine__anyone_at_the_floor__stops() public {
        _holdPositionWorth(100 * USD);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(stranger, "stop_line", FLOOR, 0, true);
        vm.prank(stranger);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function test_enforceStopLine__one_base_unit_above_the_floor__reverts() public {
        _holdPositionWorth(100 * USD + 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.AboveStopLine.selector, FLOOR + 1, FLOOR));
        vault.enforceStopLine();
    }

    function test_enforceStopLine__below_the_floor__stops_with_the_worth() public {
        _loseTo(100_000);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(address(this), "stop_line", 730 * USD, 0, true);
        vault.enforceStopLine();
    }

    function test_enforceStopLine__donations_are_no_worth() public {
        _loseTo(100_000);
        usdc.mint(address(vault), 500 * USD);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function test_enforceStopLine__money_out_at_unvalued_targets__counts_at_cost() public {
        _loseTo(100_000);
        vm.warp(NOW + 1 days);
        _execute(vault, _take(1));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(stranger, "stop_line", 730 * USD, 1, true);
        vm.prank(stranger);
        vault.enforceStopLine();
    }

    function test_enforceStopLine__an_adapter_that_reverts__reverts() public {
        _loseTo(100_000);
        vm.mockCallRevert(address(adapter), abi.encodeWithSelector(TestVenueAdapter.valueOf.selector), "down");
        _expectRevert("down");
        vault.enforceStopLine();
    }

    function test_enforceStopLine__money_back_from_unvalued_targets__is_cash_again() public {
        _loseTo(100_000);
        vm.warp(NOW + 1 days);
        _execute(vault, _take(1));
        _execute(vault, _give(1));
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function test_enforceStopLine__one_second_before_the_end__stops() public {
        _loseTo(1);
        vm.warp(ENDS_AT - 1);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }

    function test_enforceStopLine__at_the_end__reverts() public {
        _loseTo(1);
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vault.enforceStopLine();
    }

    function test_enforceStopLine__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        vault.enforceStopLine();
    }

    function test_enforceStopLine__after_a_stop__reverts() public {
        _loseTo(1);
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vault.enforceStopLine();
    }
}
