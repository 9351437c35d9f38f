// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @notice What this project calls of Uniswap v3's factory. Source: Uniswap v3-core 1.0.1.
interface IUniswapV3Factory {
    /// @notice The pool of two tokens, in either order, and a fee in millionths; zero: there is none.
    function getPool(address tokenA, address tokenB, uint24 fee) external view returns (address);

    /// @notice Makes that pool, without a price.
    function createPool(address tokenA, address tokenB, uint24 fee) external returns (address pool);
}

/// @notice What this project calls of a Uniswap v3 pool. Source: Uniswap v3-core 1.0.1.
/// @dev token0 is the token with the lower address. A tick t stands for a price of 1.0001^t base units of token1 for one of
/// token0; sqrtPriceX96 is the root of that price times 2^96.
interface IUniswapV3Pool {
    /// @notice Gives the pool its first price, once.
    function initialize(uint160 sqrtPriceX96) external;

    /// @notice Lengthens the ring of observations. Used from the first write after the newest slot is the last of the ring.
    function increaseObservationCardinalityNext(uint16 observationCardinalityNext) external;

    /// @notice Adds liquidity between two ticks; the caller pays in `uniswapV3MintCallback`.
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);

    /// @notice Swaps; the caller pays in `uniswapV3SwapCallback`.
    /// @param zeroForOne True: token0 goes in.
    /// @param amountSpecified What goes in. The pool stops before, at the limit of the price.
    /// @return amount0 What the pool's balance of token0 grew by; negative: what it paid.
    /// @return amount1 The same of token1.
    function swap(
        address recipient,
        bool zeroForOne,
        int256 amountSpecified,
        uint160 sqrtPriceLimitX96,
        bytes calldata data
    ) external returns (int256 amount0, int256 amount1);

    /// @notice One slot of the ring of observations: sums over time, up to a second, of ticks and of seconds per liquidity
    /// (Q128). Both wrap.
    function observations(uint256 index)
        external
        view
        returns (
            uint32 blockTimestamp,
            int56 tickCumulative,
            uint160 secondsPerLiquidityCumulativeX128,
            bool initialized
        );

    /// @notice What of the liquidity is in range now.
    function liquidity() external view returns (uint128);

    /// @notice The price now, which slot of the ring was written last, and how long the ring is.
    function slot0()
        external
        view
        returns (
            uint160 sqrtPriceX96,
            int24 tick,
            uint16 observationIndex,
            uint16 observationCardinality,
            uint16 observationCardinalityNext,
            uint8 feeProtocol,
            bool unlocked
        );

    function tickSpacing() external view returns (int24);
}
