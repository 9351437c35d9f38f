// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract DepositTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createEmpty();
    }

    function test_deposit__part_of_the_budget__stays_in_funding() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Deposited(owner, BUDGET - 1, BUDGET - 1, BUDGET - 1);
        vm.prank(owner);
        vault.deposit(BUDGET - 1);

        assertEq(vault.status(), Status.Funding);
        assertEq(vault.totals().deposited, BUDGET - 1);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - 1);
    }

    function test_deposit__last_base_unit_of_the_budget__begins_the_work() public {
        vm.startPrank(owner);
        vault.deposit(BUDGET - 1);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Deposited(owner, 1, BUDGET, BUDGET);
        vault.deposit(1);
        assertEq(vault.status(), Status.Working);
    }

    function test_deposit__above_the_budget__reverts() public {
        vm.startPrank(owner);
        vault.deposit(BUDGET - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, uint256(2), uint256(1)));
        vault.deposit(2);
    }

    function test_deposit__donations_are_in_the_balance_and_not_in_the_deposits() public {
        usdc.mint(address(vault), 7);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Deposited(owner, 1, 1, 8);
        vm.prank(owner);
        vault.deposit(1);
        assertEq(vault.totals().deposited, 1);
    }

    function test_deposit__nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vm.prank(owner);
        vault.deposit(0);
    }

    function test_deposit__stranger__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        vm.prank(stranger);
        vault.deposit(1);
    }

    function test_deposit__while_working__reverts() public {
        vm.startPrank(owner);
        vault.deposit(BUDGET);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateFunded.selector, BUDGET));
        vault.deposit(1);
    }

    function test_deposit__after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vm.prank(owner);
        vault.deposit(1);
    }

    function test_deposit__one_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        vm.prank(owner);
        vault.deposit(1);
        assertEq(vault.totals().deposited, 1);
    }

    function test_deposit__at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vm.prank(owner);
        vault.deposit(1);
    }

    function test_deposit__while_the_factory_is_paused__passes() public {
        vm.prank(pauser);
        factory.pause();
        vm.prank(owner);
        vault.deposit(1);
        assertEq(vault.totals().deposited, 1);
    }

    function test_deposit__without_allowance__reverts() public {
        vm.startPrank(owner);
        usdc.approve(address(vault), 0);
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(vault), uint256(0), uint256(1)
            )
        );
        vault.deposit(1);
    }
}
