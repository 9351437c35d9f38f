// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {RelayAdapter} from "../../../contracts/adapters/RelayAdapter.sol";
import "../base/Test.sol";

contract DeliverTest is Test {
    RelayAdapter internal home;
    MandateVault internal vault;
    address internal service = address(0x5E41);

    function setUp() public override {
        super.setUp();
        home = RelayAdapter(vm.deployCode("RelayAdapter.sol", abi.encode(address(usdc), service)));
        vm.prank(admin);
        factory.listAdapter(address(home));
        vault = _createWorking();
        usdc.mint(service, 50 * USD);
        vm.prank(service);
        usdc.approve(address(home), type(uint256).max);
    }

    function test_deliver__brings_the_relays_money_home_as_received() public {
        vm.expectEmit(true, true, true, true, address(vault));
        emit IMandateVaultEvents.ProceedsReceived(address(home), 40 * USD, BUDGET + 40 * USD);
        vm.prank(service);
        home.deliver(address(vault), 40 * USD);

        assertEq(vault.totals().received, 40 * USD);
        assertEq(usdc.balanceOf(service), 10 * USD);
        assertEq(usdc.balanceOf(address(home)), 0);
        assertEq(usdc.allowance(address(home), address(vault)), 0);
    }

    function test_deliver__by_anyone_else__reverts() public {
        vm.prank(keeper);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotRelay.selector, keeper));
        home.deliver(address(vault), USD);
    }

    function test_deliver__nothing__reverts() public {
        vm.prank(service);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        home.deliver(address(vault), 0);
    }

    function test_deliver__while_it_is_not_listed__reverts() public {
        vm.prank(admin);
        factory.delistAdapter(address(home));
        vm.prank(service);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, address(home)));
        home.deliver(address(vault), USD);
    }

    function test_deliver__to_an_account_that_takes_nothing__reverts_and_leaves_no_allowance() public {
        address idle = address(new IdleAccount());
        vm.prank(service);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ApprovalLeft.selector, idle, 40 * USD));
        home.deliver(idle, 40 * USD);
        assertEq(usdc.allowance(address(home), idle), 0);
        assertEq(usdc.balanceOf(service), 50 * USD);
    }

    function test_deliver__to_an_account_without_code__reverts() public {
        vm.prank(service);
        vm.expectRevert(bytes(""));
        home.deliver(stranger, 40 * USD);
        assertEq(usdc.allowance(address(home), stranger), 0);
    }

    /// @dev What a factory's implementation took, nobody could withdraw.
    function test_deliver__to_the_vault_implementation__reverts() public {
        address implementation = factory.implementation();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAVault.selector, implementation));
        vm.prank(service);
        home.deliver(implementation, USD);
    }

    function test_rules_and_value__there_are_none() public view {
        assertEq(home.rules().length, 0);
        assertEq(home.valueOf(address(vault)), 0);
    }

    function test_positionOf__what_the_service_closes_stands_elsewhere() public view {
        assertEq(home.positionOf(address(vault)), 0);
    }

    function test_unitPrice__without_positions_there_is_none() public view {
        assertEq(home.unitPrice(), 0);
    }

    function test_isLinear__nothing_is_worth_nothing() public view {
        assertTrue(home.isLinear());
    }

    function test_constructor__zero_relay__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        new RelayAdapter(address(usdc), address(0));
    }

    function test_constructor__usdc_without_code__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        new RelayAdapter(thief, service);
    }
}

/// @notice Answers as a vault does and takes nothing.
contract IdleAccount {
    function receiveProceeds(uint256) external {}
}
