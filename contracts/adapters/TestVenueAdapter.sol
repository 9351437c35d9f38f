// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {KIND_EXIT, KIND_VALUED_SPEND, NO_PIN} from "../libraries/ConstantsLib.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";
import {TestVenue} from "./TestVenue.sol";

/// @title TestVenueAdapter
/// @notice How a vault trades at the test venue.
/// @dev Positions are the caller's and proceeds go to the caller, so no function has a recipient to pin. The adapter
/// holds neither money nor positions of its own.
contract TestVenueAdapter is IAdapter {
    using SafeERC20 for IERC20;

    IERC20 private immutable USDC;

    /// @notice Where the positions are.
    TestVenue public immutable venue;

    constructor(address usdc_, address venue_) {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        if (venue_.code.length == 0) revert ErrorsLib.BadAddress(venue_);
        USDC = IERC20(usdc_);
        venue = TestVenue(venue_);
    }

    // ------------------------------------------------------------------ vaults

    /// @notice Spends `amountUsdc` of the caller's allowance on units for the caller.
    /// @return units amountUsdc * 1e6 / price, rounded down.
    function buy(uint256 amountUsdc) external returns (uint256 units) {
        USDC.safeTransferFrom(msg.sender, address(venue), amountUsdc);
        units = venue.open(msg.sender, amountUsdc);
    }

    /// @notice Sells units of the caller; the proceeds go to the caller.
    /// @return amountUsdc units * price / 1e6, rounded down.
    function sell(uint256 units) external returns (uint256 amountUsdc) {
        amountUsdc = venue.close(msg.sender, units);
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IAdapter
    function valueOf(address vault) external view returns (uint256) {
        return venue.valueOf(vault);
    }

    /// @inheritdoc IAdapter
    /// @dev Units of the test venue, 6 decimals.
    function positionOf(address vault) external view returns (uint256) {
        return venue.positionOf(vault);
    }

    /// @inheritdoc IAdapter
    /// @dev The venue's price as it is: it knows no spread and no depth.
    function unitPrice() external view returns (uint256) {
        return venue.priceE6();
    }

    /// @inheritdoc IAdapter
    function isLinear() external pure returns (bool) {
        return true;
    }

    /// @inheritdoc IAdapter
    /// @dev buy has the selector 0xd96a094a and sell 0xe4849b32, so this order is the sorted one.
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](2);
        list[0] =
            Rule({target: address(this), selector: this.buy.selector, recipientWord: NO_PIN, kind: KIND_VALUED_SPEND});
        list[1] = Rule({target: address(this), selector: this.sell.selector, recipientWord: NO_PIN, kind: KIND_EXIT});
    }
}
