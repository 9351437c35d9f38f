// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SetPayeeTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function test_setPayee__payee__moves_the_fee() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.PayeeChanged(agent, stranger);
        vm.prank(agent);
        vault.setPayee(stranger);
        assertEq(vault.payee(), stranger);

        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(vault, _sell(100 * USD));
        _stop(vault);
        vm.prank(keeper);
        vault.settle();
        assertEq(usdc.balanceOf(stranger), 10 * USD);
    }

    function test_setPayee__others__revert() public {
        address[4] memory others = [owner, keeper, admin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotPayee.selector, others[i]));
            vm.prank(others[i]);
            vault.setPayee(stranger);
        }
    }

    function test_setPayee__to_nobody_or_to_the_vault__reverts() public {
        vm.startPrank(agent);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        vault.setPayee(address(0));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(vault)));
        vault.setPayee(address(vault));
    }

    function test_setPayee__open_board_without_a_payee__reverts() public {
        terms.agent = address(0);
        vault = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotPayee.selector, agent));
        vm.prank(agent);
        vault.setPayee(agent);
    }
}
