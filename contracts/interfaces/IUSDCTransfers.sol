// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IUSDC} from "./IUSDC.sol";

/// @title IUSDCTransfers
/// @notice What SponsoredBuy uses of Circle's FiatTokenV2_2 beside what the vault does.
interface IUSDCTransfers is IUSDC {
    /// @notice EIP-3009, bytes form: `signature` may also be an ERC-1271 wallet's.
    /// @dev Anyone may submit it; both time bounds are exclusive.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external;
}
