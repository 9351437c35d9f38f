// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Rule} from "../libraries/TermsLib.sol";

/// @title IAdapter
/// @notice What a contract must publish so that the factory can list it, and so that vault, keeper and API can read any
/// venue alike.
///
/// - `valueOf` is what counts: vaults add it up for the stop line, and nothing else here is read on chain.
/// - `positionOf`, `unitPrice` and `isLinear` say how that value comes about. Readers off chain take them as claims.
/// - Nobody but the vault may have a position paid out by a plain transfer: such money is a gift to the vault, neither own
///   cash nor gain, so anyone could lower its worth. Money that comes outside the vault's calls comes by
///   `receiveProceeds`. An adapter that does not keep this is not to be listed.
/// - No position is valued by two listed adapters: a mandate that names both would count it twice. Nor should anybody but
///   the vault be able to open one for it: what was bought for it elsewhere would count at cost there and by value here.
/// - `valueOf` cannot be moved and put back within one transaction or block: no spot price, and no venue that can be asked
///   halfway through its own call. Whoever could would stop a mandate at its line, or lift its mark, for nothing.
/// - `valueOf` answers the same or reverts, however little gas it is given: no caught call whose failure counts as 0, and no
///   limit of its own. Whoever stops by the line chooses the gas.
/// - An adapter without positions answers 0, 0, 0 and true: it states no price, and 0 is then exactly its value.
interface IAdapter {
    /// @notice The functions of this adapter that a mandate may allow, sorted strictly ascending by selector.
    /// @dev Every rule's target is the adapter itself.
    function rules() external view returns (Rule[] memory);

    /// @notice What the positions that `vault` holds through this adapter are worth now.
    /// @dev Units: USDC base units, rounded down. 0 for an adapter that holds no positions.
    function valueOf(address vault) external view returns (uint256);

    /// @notice How many units `vault` holds through this adapter.
    /// @dev Units: base units of the venue's asset. How many of them make a whole one is the adapter's own to say, and
    /// does not enter the price. 0 exactly when the vault holds nothing here. An adapter of several assets counts them in
    /// a unit that it documents, and is not linear.
    function positionOf(address vault) external view returns (uint256);

    /// @notice USDC base units for 1e6 units of `positionOf`, whatever decimals those units have.
    /// @dev Exact when `isLinear`, and the same for every vault. Otherwise an indication, rounded down, that nobody may
    /// multiply; 0 when the adapter states no price.
    function unitPrice() external view returns (uint256);

    /// @notice True: in every block `valueOf(vault) == positionOf(vault) * unitPrice() / 1e6`, rounded down, for every
    /// vault and any size. False: the price depends on more than the size, and only `valueOf` counts.
    function isLinear() external view returns (bool);
}
