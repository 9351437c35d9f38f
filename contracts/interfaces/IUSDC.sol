// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title IUSDC
/// @notice The part of Circle's FiatTokenV2_2 that the vault uses.
interface IUSDC is IERC20 {
    /// @notice True once an authorization was used or cancelled.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);

    /// @notice EIP-3009, bytes form: `signature` may also be an ERC-1271 wallet's.
    /// @dev Only the payee may submit it; both time bounds are exclusive.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;
}
