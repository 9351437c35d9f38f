// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IMandateVault, Totals} from "../interfaces/IMandateVault.sol";
import {IUSDC} from "../interfaces/IUSDC.sol";

/// @dev What a vault holds and has counted. `isThere` false: no vault stands at the address yet, and the rest is 0.
struct VaultPosition {
    bool isThere;
    Totals totals;
    address agent;
    /// Who gets the fee; zero on the open board until an agent spends.
    address payee;
    /// USDC base units, with what anybody sent to it.
    uint256 balance;
}

/// @title VaultPositions
/// @notice The positions of many vaults in one answer of a node. It is never deployed: its creation code, followed by the
/// arguments, is the data of an eth_call without recipient, and what it would leave as code is the answer.
///
/// WHY IT IS THERE
/// - A node opens the state of a block once for each call, so that a hundred vaults of three calls each keep it busy for seconds.
contract VaultPositions {
    /// @param vaults Vaults of our factory: one that reverts leaves all of them without an answer.
    /// @dev Answers one VaultPosition after the other, 11 words each, in the order of `vaults`.
    constructor(address[] memory vaults, IUSDC usdc) {
        VaultPosition[] memory found = new VaultPosition[](vaults.length);
        for (uint256 i; i < vaults.length; ++i) {
            if (vaults[i].code.length == 0) continue;
            IMandateVault vault = IMandateVault(vaults[i]);
            found[i] = VaultPosition({
                isThere: true,
                totals: vault.totals(),
                agent: vault.agent(),
                payee: vault.payee(),
                balance: usdc.balanceOf(vaults[i])
            });
        }
        bytes memory answer = abi.encode(found);
        // Without the array's offset and length, which the caller knows.
        assembly ("memory-safe") {
            return(add(answer, 0x60), sub(mload(answer), 0x40))
        }
    }
}
