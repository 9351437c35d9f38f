// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {VaultLens} from "../../../contracts/lenses/VaultLens.sol";
import "./GasTest.sol";

/// @dev What one of 300 vaults costs a node, each with one adapter and a position there; an eth_call is no transaction, but is
/// counted as one.
contract VaultLensGas is GasTest {
    uint256 private constant MANY = 300;

    VaultLens private lens;
    address[] private vaults;

    function setUp() public override {
        super.setUp();
        lens = VaultLens(vm.deployCode("VaultLens.sol", abi.encode(address(factory))));
        usdc.mint(owner, MANY * BUDGET);
        _draftThreeRules();
        for (uint256 i; i < MANY; ++i) {
            terms.nonce += 1;
            MandateVault vault = _createWorking();
            _execute(vault, _buy(9 * USD));
            vaults.push(address(vault));
        }
    }

    function test_gas__readings_and_positions__300_vaults() public {
        lens.readings(vaults);
        emit log_named_uint("lens_reading", vm.lastCallGas().gasTotalUsed / MANY);
        lens.positions(vaults);
        emit log_named_uint("lens_position", vm.lastCallGas().gasTotalUsed / MANY);
    }
}
