// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IMandateVaultFactory} from "./interfaces/IMandateVaultFactory.sol";

/// @title VaultShell
/// @notice Creation code of every vault: it asks the factory for the code to install.
/// @dev CREATE2 derives an address from creation code and salt. This creation code is the same for all vaults, so
/// a vault's address follows from its salt alone, which is the digest of the terms; terms and rules can then lie
/// in the installed code without being needed to predict the address.
contract VaultShell {
    constructor() {
        bytes memory code = IMandateVaultFactory(msg.sender).vaultCode();
        assembly {
            return(add(code, 0x20), mload(code))
        }
    }
}
