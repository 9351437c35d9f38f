// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {SilentToken} from "../attacks/Tokens.sol";
import "../base/Test.sol";

contract WithdrawTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _withdraw(uint256 amount) private {
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, amount);
    }

    function _gain100() private {
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(vault, _sell(100 * USD));
    }

    // ------------------------------------------------------------------ when

    function test_withdraw__while_working__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, LOCK_WORKING, GRACE_END));
        _withdraw(1);
    }

    function test_withdraw__last_second_of_the_grace__reverts() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, LOCK_SETTLE_GRACE, GRACE_END));
        _withdraw(1);
    }

    function test_withdraw__at_the_end_of_the_grace__passes_without_settling() public {
        vm.warp(GRACE_END);
        _withdraw(BUDGET);
        assertEq(usdc.balanceOf(address(vault)), 0);
        assertEq(vault.totals().withdrawn, BUDGET);
    }

    function test_withdraw__after_a_stop__pays_everything_and_emits() public {
        _stop(vault);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Withdrawn(address(usdc), stranger, BUDGET, 0);
        vm.prank(owner);
        vault.withdraw(address(usdc), stranger, BUDGET);
        assertEq(usdc.balanceOf(stranger), BUDGET);
    }

    function test_withdraw__in_two_transactions_at_any_time_before_the_end() public {
        _execute(vault, _buy(60 * USD));
        _stop(vault);
        _withdraw(BUDGET - 60 * USD);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    function test_withdraw__settled_within_the_grace__passes() public {
        vm.warp(ENDS_AT);
        vm.prank(keeper);
        vault.settle();
        _withdraw(BUDGET);
        assertEq(usdc.balanceOf(owner), 10 * BUDGET);
    }

    function test_withdraw__while_the_factory_is_paused__passes() public {
        _stop(vault);
        vm.prank(pauser);
        factory.pause();
        _withdraw(BUDGET);
        assertEq(usdc.balanceOf(owner), 10 * BUDGET);
    }

    // ------------------------------------------------------------------ who and what

    function test_withdraw__nobody_but_the_owner() public {
        _stop(vault);
        address[4] memory others = [agent, keeper, admin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, others[i]));
            vm.prank(others[i]);
            vault.withdraw(address(usdc), others[i], 1);
        }
    }

    function test_withdraw__leaves_the_fee_owed() public {
        _gain100();
        _stop(vault);
        assertEq(vault.feeOwed(), 10 * USD);
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.OverWithdrawable.selector, BUDGET + 90 * USD + 1, BUDGET + 90 * USD)
        );
        _withdraw(BUDGET + 90 * USD + 1);
        _withdraw(BUDGET + 90 * USD);
        assertEq(usdc.balanceOf(address(vault)), 10 * USD);

        vm.prank(keeper);
        assertEq(vault.settle(), 10 * USD);
        assertEq(usdc.balanceOf(agent), 10 * USD);
    }

    function test_withdraw__after_the_grace__leaves_the_fee_of_an_unsettled_mandate() public {
        _gain100();
        vm.warp(GRACE_END);
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.OverWithdrawable.selector, BUDGET + 100 * USD, BUDGET + 90 * USD)
        );
        _withdraw(BUDGET + 100 * USD);
    }

    function test_withdraw__other_token__pays_and_names_its_balance() public {
        MockUSDC other = new MockUSDC();
        other.mint(address(vault), 9);
        _stop(vault);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Withdrawn(address(other), owner, 4, 5);
        vm.prank(owner);
        vault.withdraw(address(other), owner, 4);
        assertEq(vault.totals().withdrawn, 0);
    }

    /// @dev Its balance is unknown then, which is not 0.
    function test_withdraw__other_token_that_does_not_say_its_balance__pays_all_the_same() public {
        _stop(vault);
        uint256[2] memory answered = [uint256(0), 31];
        for (uint256 i; i < answered.length; ++i) {
            SilentToken other = new SilentToken(answered[i]);
            other.mint(address(vault), 9);
            _expectEmit(address(vault));
            emit IMandateVaultEvents.Withdrawn(address(other), owner, 9, type(uint256).max);
            vm.prank(owner);
            vault.withdraw(address(other), owner, 9);
            vm.prank(owner);
            assertTrue(other.transfer(stranger, 9));
        }
    }

    function test_withdraw__other_token_while_working__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, LOCK_WORKING, GRACE_END));
        vm.prank(owner);
        vault.withdraw(address(venue), owner, 1);
    }

    function test_withdraw__nothing__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _withdraw(0);
    }

    function test_withdraw__to_nobody_or_to_the_vault__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        vm.prank(owner);
        vault.withdraw(address(usdc), address(0), 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(vault)));
        vm.prank(owner);
        vault.withdraw(address(usdc), address(vault), 1);
    }

    // ------------------------------------------------------------------ while funding

    function test_withdraw__while_funding__takes_deposits_back() public {
        terms.nonce = 2;
        vault = _createEmpty();
        vm.prank(owner);
        vault.deposit(400 * USD);
        _withdraw(150 * USD);
        assertEq(vault.totals().deposited, 250 * USD);
        assertEq(vault.totals().withdrawn, 0);

        vm.prank(owner);
        vault.deposit(750 * USD);
        assertEq(vault.status(), Status.Working);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_withdraw__while_funding__donations_leave_first() public {
        terms.nonce = 2;
        vault = _createEmpty();
        vm.prank(owner);
        vault.deposit(400 * USD);
        usdc.mint(address(vault), 100 * USD);
        _withdraw(100 * USD);
        assertEq(vault.totals().deposited, 400 * USD);
        _withdraw(1);
        assertEq(vault.totals().deposited, 400 * USD - 1);
    }
}
