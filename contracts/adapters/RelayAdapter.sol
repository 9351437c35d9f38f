// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {IMandateVault} from "../interfaces/IMandateVault.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";

/// @title RelayAdapter
/// @notice Brings home what the service closed for a mandate with its relay key, so that it counts as received.
///
/// - It only brings money in: the relay pays, the vault receives, nothing is ever taken from a vault.
/// - It publishes no rules, so no mandate can send money through it, and values no positions.
/// - An account that does not take the money, a vault or not, gets none and keeps no allowance.
/// - Only the relay delivers: what arrives counts towards own cash and the agent's fee, and the record should show it as
///   the service's closing, not as anybody's gift.
contract RelayAdapter is IAdapter {
    using SafeERC20 for IERC20;

    IERC20 private immutable USDC;

    /// @notice The service's relay. Only it delivers, so that proceeds in the record are the service's.
    address public immutable relay;

    constructor(address usdc_, address relay_) {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        if (relay_ == address(0)) revert ErrorsLib.BadAddress(relay_);
        USDC = IERC20(usdc_);
        relay = relay_;
    }

    // ------------------------------------------------------------------ the relay

    /// @notice Takes `amount` from the relay's allowance and delivers it to `vault` as proceeds.
    function deliver(address vault, uint256 amount) external {
        if (msg.sender != relay) revert ErrorsLib.NotRelay(msg.sender);
        USDC.safeTransferFrom(relay, address(this), amount);
        USDC.forceApprove(vault, amount);
        IMandateVault(vault).receiveProceeds(amount);
        uint256 left = USDC.allowance(address(this), vault);
        if (left != 0) revert ErrorsLib.ApprovalLeft(vault, left);
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IAdapter
    /// @dev Positions that only the service closes are worth what the keeper's mark says.
    function valueOf(address) external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev What the service closes stands at its venue, not here.
    function positionOf(address) external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev No position, no price.
    function unitPrice() external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev True for want of positions: 0 is what 0 units are worth.
    function isLinear() external pure returns (bool) {
        return true;
    }

    /// @inheritdoc IAdapter
    function rules() external pure returns (Rule[] memory) {
        return new Rule[](0);
    }
}
