// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {IMandateVault} from "../interfaces/IMandateVault.sol";
import {KIND_VALUED_SPEND, NO_PIN} from "../libraries/ConstantsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";

/// @title MockRelayAdapter
/// @notice An adapter that takes money out on one side and brings it in on the other, and says any worth it is told.
contract MockRelayAdapter is IAdapter {
    using SafeERC20 for IERC20;

    IERC20 private immutable USDC;

    /// @inheritdoc IAdapter
    mapping(address vault => uint256) public override valueOf;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    /// @notice Says what a vault's positions are worth.
    function setValue(address vault, uint256 value) external {
        valueOf[vault] = value;
    }

    /// @notice Pulls `amount` from the calling vault.
    function take(uint256 amount) external {
        USDC.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Brings `amount` home to the vault.
    function pushProceeds(address vault, uint256 amount) external {
        USDC.forceApprove(vault, amount);
        IMandateVault(vault).receiveProceeds(amount);
    }

    /// @inheritdoc IAdapter
    /// @dev Units: USDC base units, so that any worth is a position.
    function positionOf(address vault) external view returns (uint256) {
        return valueOf[vault];
    }

    /// @inheritdoc IAdapter
    function unitPrice() external pure returns (uint256) {
        return 1e6;
    }

    /// @inheritdoc IAdapter
    /// @dev A worth that is told need not follow from any price.
    function isLinear() external pure returns (bool) {
        return false;
    }

    /// @inheritdoc IAdapter
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](1);
        list[0] =
            Rule({target: address(this), selector: this.take.selector, recipientWord: NO_PIN, kind: KIND_VALUED_SPEND});
    }
}
