// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {FreezableUSDC} from "../../../contracts/mocks/FreezableUSDC.sol";
import "../base/Test.sol";

/// @notice An adapter that may stop telling what its positions are worth, and still sells them.
contract MoodyAdapter {
    IERC20 private immutable USDC;
    bool public fails;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function fail() external {
        fails = true;
    }

    function take(uint256 amount) external {
        require(USDC.transferFrom(msg.sender, address(this), amount));
    }

    function give() external {
        require(USDC.transfer(msg.sender, USDC.balanceOf(address(this))));
    }

    function valueOf(address) external view returns (uint256) {
        require(!fails, "moody");
        return USDC.balanceOf(address(this));
    }
}

/// @notice The owner's money comes out: from each state, under each set of faults, by at most two transactions of the
/// owner's and one wait, none of which needs anybody else. The keeper is gone in all of them.
contract LivenessTest is Test {
    uint256 private constant STATES = 13;
    uint256 private constant FAULTS = 1 << 5;
    uint256 private constant MOST_TRANSACTIONS = 2;
    uint256 private constant MOST_WAITS = 1;

    MandateVault internal vault;
    MoodyAdapter internal moody;
    address internal elsewhere = address(0xE15E);

    uint256 private _transactions;
    uint256 private _waits;

    function setUp() public override {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("FreezableUSDC.sol");
        _draftTerms();
        _clearRules();
        moody = new MoodyAdapter(address(usdc));
        vm.prank(admin);
        factory.listAdapter(address(moody));
        _addRule(address(moody), MoodyAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(moody), MoodyAdapter.give.selector, NO_PIN, KIND_EXIT);
        _addRule(address(hostile), HostileVenue.give.selector, NO_PIN, KIND_EXIT);
    }

    function test_liveness__from_each_state_under_all_faults__the_money_comes_out() public {
        for (uint256 state; state < STATES; ++state) {
            uint256 ground = vm.snapshotState();
            _reach(state);
            for (uint256 faults; faults < FAULTS; ++faults) {
                uint256 snapshot = vm.snapshotState();
                _break(faults);
                _takeOut();
                vm.revertToState(snapshot);
            }
            vm.revertToState(ground);
        }
    }

    /// @dev What the way out needs is needed: without the wait and with a position a second transaction is not enough.
    function test_liveness__a_position_while_working__does_not_come_out_without_the_wait() public {
        _reach(2);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, LOCK_WORKING, GRACE_END));
        vm.prank(owner);
        vault.withdraw(address(usdc), elsewhere, 1);
    }

    // ------------------------------------------------------------------ states

    function _reach(uint256 state) private {
        vault = _createEmpty();
        if (state < 2) {
            vm.prank(owner);
            vault.deposit(BUDGET / 2);
            if (state == 1) _stop(vault);
            return;
        }
        vm.prank(owner);
        vault.deposit(BUDGET);
        bool isOut = state % 2 == 0;
        if (isOut) _execute(vault, Call(address(moody), PER_TX, abi.encodeCall(MoodyAdapter.take, (PER_TX))));
        // A gain, so that a fee is owed.
        _execute(vault, _give(150 * USD));

        if (state == 4 || state == 5) {
            vm.prank(owner);
            vault.removeAgent();
        } else if (state == 6 || state == 7) {
            _stop(vault);
        } else if (state == 8 || state == 9) {
            vm.warp(ENDS_AT);
        } else if (state == 10) {
            vm.warp(GRACE_END);
        } else if (state == 11) {
            _stop(vault);
            vm.prank(owner);
            vault.settle();
        } else if (state == 12) {
            vm.warp(ENDS_AT);
            vm.prank(keeper);
            vault.settle();
        }
    }

    function _break(uint256 faults) private {
        FreezableUSDC freezer = FreezableUSDC(address(usdc));
        if (faults & 1 != 0) moody.fail();
        if (faults & 2 != 0) freezer.setFrozen(owner, true);
        if (faults & 4 != 0) freezer.setFrozen(agent, true);
        if (faults & 8 != 0) {
            vm.prank(pauser);
            factory.pause();
        }
        // The factory answers nothing at all.
        if (faults & 16 != 0) vm.etch(address(factory), hex"fe");
    }

    // ------------------------------------------------------------------ the way out

    /// @dev As the exit page goes: what `lock` says is done, positions come home, and everything but the fee leaves.
    function _takeOut() private {
        (_transactions, _waits) = (0, 0);
        bool isOut = usdc.balanceOf(address(moody)) != 0;
        uint256 before = usdc.balanceOf(elsewhere);
        uint256 all = usdc.balanceOf(address(vault)) + usdc.balanceOf(address(moody));

        (, bytes32 reason, uint64 until) = vault.lock();
        if (reason == LOCK_WORKING && !isOut) {
            _send(abi.encodeCall(vault.stop, ("out")));
        } else if (reason != 0) {
            _waits += 1;
            vm.warp(until);
        }
        if (isOut) {
            _send(
                abi.encodeCall(vault.unwind, (_batch(Call(address(moody), 0, abi.encodeCall(MoodyAdapter.give, ())))))
            );
        }
        uint256 fee = vault.feeOwed();
        _send(abi.encodeCall(vault.withdraw, (address(usdc), elsewhere, usdc.balanceOf(address(vault)) - fee)));

        assertEq(usdc.balanceOf(address(vault)), fee);
        assertEq(usdc.balanceOf(elsewhere) - before, all - fee);
        vm.assertLe(fee, 15 * USD);
        vm.assertLe(_transactions, MOST_TRANSACTIONS);
        vm.assertLe(_waits, MOST_WAITS);
    }

    function _send(bytes memory data) private {
        _transactions += 1;
        vm.prank(owner);
        (bool passed,) = address(vault).call(data);
        assertTrue(passed);
    }
}
