// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Rule} from "../libraries/TermsLib.sol";

/// @title IAdapter
/// @notice What a contract must publish so that the factory can list it.
interface IAdapter {
    /// @notice The functions of this adapter that a mandate may allow, sorted strictly ascending by selector.
    /// @dev Every rule's target is the adapter itself.
    function rules() external view returns (Rule[] memory);

    /// @notice What the positions that `vault` holds through this adapter are worth now.
    /// @dev Units: USDC base units, rounded down. 0 for an adapter that holds no positions.
    function valueOf(address vault) external view returns (uint256);
}
