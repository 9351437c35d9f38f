// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Erc4626Adapter} from "../../../contracts/adapters/Erc4626Adapter.sol";
import {FaultyPool} from "../../../contracts/mocks/FaultyPool.sol";
import "./AdapterConformance.sol";

/// @dev A pool in which the attacker lends and gives the whole loan away; its rate can only be lifted by that.
contract Erc4626AdapterConformanceTest is AdapterConformance {
    FaultyPool internal pool;

    function test_conformance__Erc4626Adapter() public {
        _conforms();
    }

    function _subject() internal override returns (IAdapter) {
        pool = FaultyPool(vm.deployCode("FaultyPool.sol", abi.encode(address(usdc))));
        address made = vm.deployCode(
            "Erc4626Adapter.sol", abi.encode(address(factory), address(pool), uint256(0), uint256(2_000), uint256(50))
        );
        vm.prank(admin);
        factory.listAdapter(made);
        usdc.mint(stranger, BUDGET);
        vm.startPrank(stranger);
        usdc.approve(address(pool), BUDGET);
        pool.deposit(BUDGET, stranger);
        vm.stopPrank();
        return IAdapter(made);
    }

    function _open(MandateVault of_, uint256 amount) internal override {
        _execute(of_, Call(address(subject), amount, abi.encodeCall(Erc4626Adapter.deposit, (amount, 0))));
    }

    function _closing(MandateVault of_) internal view override returns (Call memory) {
        uint256 shares = subject.positionOf(address(of_));
        return Call(address(subject), 0, abi.encodeCall(Erc4626Adapter.redeem, (shares, 0)));
    }

    function _push(address who, uint256 loan) internal override {
        vm.startPrank(who);
        usdc.approve(address(pool), loan);
        pool.deposit(loan / 2, who);
        usdc.transfer(address(pool), loan / 4);
        vm.stopPrank();
    }

    function _undo(address who) internal override {
        uint256 shares = pool.balanceOf(who);
        vm.prank(who);
        pool.redeem(shares, who, who);
    }

    function _movePrice(uint256 priceE6) internal override {
        uint256 wanted = pool.totalSupply() / 1e6 * priceE6 / 1e6;
        uint256 has = pool.totalAssets();
        if (wanted > has) usdc.mint(address(pool), wanted - has);
        else pool.lose(has - wanted);
    }

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (address(subject), address(pool));
    }
}
