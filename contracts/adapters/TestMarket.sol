// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IUniswapV3Factory, IUniswapV3Pool} from "../interfaces/IUniswapV3.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";

/// @title TestMarket
/// @notice A Uniswap v3 pool of USDC and one token, and all who trade in it, for test chains alone. Whatever this contract
/// holds is liquidity that anyone may provide, or is swapped by anyone to move the price.
///
/// UNITS
/// - Prices are USDC base units for 1e18 base units of the token, liquidity the pool's.
contract TestMarket {
    using SafeERC20 for IERC20;

    /// @dev The largest tick of either sign.
    int24 private constant MAX_TICK = 887_272;

    IERC20 private immutable USDC;
    IERC20 private immutable TOKEN;
    bool private immutable IS_USDC_TOKEN0;

    /// @notice The pool. Without a price until `open`.
    IUniswapV3Pool public immutable pool;

    constructor(address uniswapFactory, address usdc, address token, uint24 fee) {
        (USDC, TOKEN, IS_USDC_TOKEN0) = (IERC20(usdc), IERC20(token), usdc < token);
        pool = IUniswapV3Pool(IUniswapV3Factory(uniswapFactory).createPool(usdc, token, fee));
    }

    /// @notice Gives the pool its first price, and liquidity from the first second on.
    function open(uint256 price, uint128 liquidity) external {
        pool.initialize(_root(price));
        if (liquidity != 0) provide(liquidity);
    }

    /// @notice Provides liquidity at all prices from what this contract holds.
    function provide(uint128 liquidity) public {
        int24 spacing = pool.tickSpacing();
        int24 edge = MAX_TICK / spacing * spacing;
        pool.mint(address(this), -edge, edge, liquidity, "");
    }

    /// @notice Swaps what this contract holds until the pool's price is that.
    function moveTo(uint256 price) external {
        uint160 target = _root(price);
        (uint160 now_,,,,,,) = pool.slot0();
        if (target != now_) pool.swap(address(this), target < now_, type(int256).max, target, "");
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        _pay(owed0, owed1);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata) external {
        _pay(amount0 > 0 ? uint256(amount0) : 0, amount1 > 0 ? uint256(amount1) : 0);
    }

    function _pay(uint256 owed0, uint256 owed1) private {
        if (msg.sender != address(pool)) revert ErrorsLib.BadAddress(msg.sender);
        (uint256 usdc, uint256 token) = IS_USDC_TOKEN0 ? (owed0, owed1) : (owed1, owed0);
        if (usdc != 0) USDC.safeTransfer(msg.sender, usdc);
        if (token != 0) TOKEN.safeTransfer(msg.sender, token);
    }

    /// @dev Of the price in base units of token1 for one of token0, times 2^96.
    function _root(uint256 price) private view returns (uint160) {
        uint256 ratio = IS_USDC_TOKEN0 ? Math.mulDiv(1e18, 1 << 192, price) : Math.mulDiv(price, 1 << 192, 1e18);
        // A price outside of 160 bits is outside of what the pool allows.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint160(Math.sqrt(ratio));
    }
}
