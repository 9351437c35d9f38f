// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./GasTest.sol";

contract CreateVaultGas is GasTest {
    /// @dev The owner's one EIP-3009 signature is consent and money; somebody else sends it.
    function test_gas__create_vault__three_rules_and_the_whole_budget_by_authorization() public {
        _draftThreeRules();
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        vm.prank(stranger);
        address vault = factory.createVault(terms, rules, "", funding);
        _record("create_vault");

        assertEq(MandateVault(vault).status(), Status.Working);
        assertEq(MandateVault(vault).rules().length, 3);
        assertEq(usdc.balanceOf(vault), BUDGET);
    }
}
