// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";
import "./GasTest.sol";

/// @dev What the mandate adds to a deposit into a pool and a redemption from it, beside the same by a person.
contract LendingGas is Erc4626Test, GasTest {
    function setUp() public override(Erc4626Test, Test) {
        Erc4626Test.setUp();
        _clearRules();
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();
        _lend(9 * USD);
    }

    function test_gas__lend__beside_the_bare_deposit() public {
        _lend(9 * USD);
        _record("lend");
        usdc.mint(stranger, 9 * USD);
        vm.prank(stranger);
        usdc.approve(address(pool), 9 * USD);
        vm.prank(stranger);
        pool.deposit(9 * USD, stranger);
        _record("pool_deposit");
        assertEq(_value(), 18 * USD);
    }

    function test_gas__redeem__beside_the_bare_redemption() public {
        _execute(vault, _redeem(3 * USD * SHARES, 0));
        _record("lend_back");
        vm.prank(stranger);
        pool.redeem(3 * USD * SHARES, stranger, stranger);
        _record("pool_redeem");
        assertEq(_value(), 6 * USD);
    }
}
