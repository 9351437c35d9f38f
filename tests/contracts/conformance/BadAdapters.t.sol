// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./AdapterConformance.sol";
import {
    BadAdapter,
    CatchingAdapter,
    ForwardingAdapter,
    LyingUnitsAdapter,
    PossessiveAdapter,
    SpotAdapter
} from "./BadAdapters.sol";

/// @dev Adapters that must not pass, so that who writes one knows that the conditions are looked at.
abstract contract BadAdapterTest is AdapterConformance {
    function _open(MandateVault of_, uint256 amount) internal override {
        _execute(of_, Call(address(subject), amount, abi.encodeCall(BadAdapter.buy, (amount))));
    }

    function _closing(MandateVault of_) internal view override returns (Call memory) {
        uint256 units = subject.positionOf(address(of_));
        return Call(address(subject), 0, abi.encodeCall(BadAdapter.sell, (units)));
    }

    function _push(address who, uint256 loan) internal override {
        vm.startPrank(who);
        usdc.approve(address(subject), loan);
        BadAdapter(address(subject)).buy(loan);
        vm.stopPrank();
    }

    function _undo(address who) internal override {
        uint256 units = subject.positionOf(who);
        vm.prank(who);
        BadAdapter(address(subject)).sell(units);
    }

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(subject);
    }

    function _list(BadAdapter made) internal returns (IAdapter) {
        vm.prank(admin);
        factory.listAdapter(address(made));
        usdc.mint(address(made), 10_000 * USD);
        return made;
    }

    /// @dev The condition throws, and by its own error.
    function _fails(bytes memory condition, bytes4 error_) internal {
        (bool passed, bytes memory answer) = address(this).call(condition);
        assertFalse(passed);
        assertEq(bytes32(bytes4(answer)), bytes32(error_));
    }

    /// @dev For `_fails` alone, which calls from outside.
    function conforms() external {
        _conforms();
    }
}

contract SpotAdapterConformanceTest is BadAdapterTest {
    function _subject() internal override returns (IAdapter) {
        return _list(new SpotAdapter(address(usdc)));
    }

    function test_conformance__spot_price__fails() public {
        _fails(abi.encodeCall(this.conforms, ()), ValueMoved.selector);
    }

    function test_conformance__spot_price__flash_sale__is_seen() public {
        _fails(abi.encodeCall(this.checkFlashSale, ()), ValueMoved.selector);
    }

    function test_conformance__spot_price__read_halfway__is_seen() public {
        _fails(abi.encodeCall(this.checkReentrantRead, ()), ValueMoved.selector);
    }

    function test_conformance__spot_price__donation__is_seen() public {
        _fails(abi.encodeCall(this.checkDonation, ()), ValueMoved.selector);
    }

    function test_conformance__spot_price__closing_brings_less_than_the_value() public {
        _fails(abi.encodeCall(this.checkUnits, ()), CloseBringsAnother.selector);
    }

    /// @dev What the condition is for: a sale for the length of one transaction stops a mandate that lost nothing.
    function test_spot_price__stops_a_mandate_for_nothing() public {
        _open(vault, PER_TX);
        _push(attacker, LOAN / 100);
        _open(vault, PER_TX);
        _undo(attacker);
        vm.prank(attacker);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }
}

contract LyingUnitsConformanceTest is BadAdapterTest {
    function _subject() internal override returns (IAdapter) {
        return _list(new LyingUnitsAdapter(address(usdc), 1, 1, 0));
    }

    function test_conformance__honest_units__pass() public {
        _conforms();
    }

    function _failsWith(uint256 numerator, uint256 denominator, int256 more, bytes4 error_) private {
        vm.etch(address(subject), address(new LyingUnitsAdapter(address(usdc), numerator, denominator, more)).code);
        _fails(abi.encodeCall(this.checkUnits, ()), error_);
    }

    function test_conformance__a_unit_too_many__is_seen() public {
        _failsWith(1, 1, 1, OpenedForMore.selector);
    }

    function test_conformance__a_unit_too_few__is_seen() public {
        _failsWith(1, 1, -1, CloseBringsAnother.selector);
    }

    function test_conformance__eighteen_decimals__are_seen() public {
        _failsWith(1e12, 1, 0, OpenedForMore.selector);
    }

    function test_conformance__whole_dollars__are_seen() public {
        _failsWith(1, 1e6, 0, CloseBringsAnother.selector);
    }
}

contract CatchingConformanceTest is BadAdapterTest {
    function _subject() internal override returns (IAdapter) {
        return _list(new CatchingAdapter(address(usdc)));
    }

    function test_conformance__a_failure_that_counts_as_nothing__is_seen() public {
        _fails(abi.encodeCall(this.checkGas, ()), ValueMoved.selector);
    }

    /// @dev What the condition is for: a stop with so little gas that the venue is not asked to the end.
    function test_a_failure_that_counts_as_nothing__stops_a_mandate_for_nothing() public {
        _open(vault, PER_TX);
        uint256 gas_ = 1_000_000;
        while (vault.status() == Status.Working && gas_ < 20_000_000) {
            vm.prank(attacker);
            (bool passed,) = address(vault).call{gas: gas_}(abi.encodeCall(vault.enforceStopLine, ()));
            gas_ += gas_ / 20;
            if (passed) break;
        }
        assertEq(vault.status(), Status.Stopped);
    }
}

contract ForwardingConformanceTest is BadAdapterTest {
    function _subject() internal override returns (IAdapter) {
        return _list(new ForwardingAdapter(address(usdc)));
    }

    function test_conformance__a_position_that_anybody_sells__is_seen() public {
        _fails(abi.encodeCall(this.checkStranger, ()), TakenBy.selector);
    }
}

contract PossessiveConformanceTest is BadAdapterTest {
    function _subject() internal override returns (IAdapter) {
        return _list(new PossessiveAdapter(address(usdc)));
    }

    function test_conformance__a_venue_that_pays_working_mandates_alone__is_seen() public {
        _fails(abi.encodeCall(this.checkLeaving, ()), PossessiveAdapter.Mine.selector);
    }
}
