// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

import {BPS} from "../libraries/ConstantsLib.sol";

/// @title FaultyPool
/// @notice An ERC-4626 vault that fails as real ones do: it loses money, charges who enters or leaves, is paused, or does not
/// say its rate.
contract FaultyPool is ERC4626 {
    using SafeERC20 for IERC20;

    error PoolPaused();

    uint256 private _entryFeeBps;
    uint256 private _exitFeeBps;
    bool private _isPaused;
    bool private _isSilent;

    constructor(address usdc) ERC20("Faulty pool", "fpUSDC") ERC4626(IERC20(usdc)) {}

    function setFees(uint256 entryFeeBps, uint256 exitFeeBps) external {
        (_entryFeeBps, _exitFeeBps) = (entryFeeBps, exitFeeBps);
    }

    function setPaused(bool isPaused) external {
        _isPaused = isPaused;
    }

    function setSilent(bool isSilent) external {
        _isSilent = isSilent;
    }

    /// @notice The rate falls at once.
    function lose(uint256 amount) external {
        IERC20(asset()).safeTransfer(address(0xDEAD), amount);
    }

    function convertToAssets(uint256 shares) public view override returns (uint256) {
        if (_isSilent) revert PoolPaused();
        return super.convertToAssets(shares);
    }

    function previewDeposit(uint256 assets) public view override returns (uint256) {
        return super.previewDeposit(assets - assets * _entryFeeBps / BPS);
    }

    function previewRedeem(uint256 shares) public view override returns (uint256) {
        uint256 assets = super.previewRedeem(shares);
        return assets - assets * _exitFeeBps / BPS;
    }

    function _deposit(address caller, address receiver, uint256 assets, uint256 shares) internal override {
        super._deposit(caller, receiver, assets, shares);
        IERC20(asset()).safeTransfer(address(0xDEAD), assets * _entryFeeBps / BPS);
    }

    function _withdraw(address caller, address receiver, address owner, uint256 assets, uint256 shares)
        internal
        override
    {
        if (_isPaused) revert PoolPaused();
        super._withdraw(caller, receiver, owner, assets, shares);
    }

    function _decimalsOffset() internal pure override returns (uint8) {
        return 6;
    }
}
