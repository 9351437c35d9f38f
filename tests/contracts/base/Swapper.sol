// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {IUniswapV3Pool} from "../../../contracts/interfaces/IUniswapV3.sol";

/// @notice Swaps what its caller allows it, and no more than that: the least that a swap at a pool needs.
contract Swapper {
    uint160 private constant LOWEST = 4_295_128_740;
    uint160 private constant HIGHEST = 1461446703485210103287273052203988822378723970341;

    function swap(IUniswapV3Pool pool, address tokenIn, bool isToken0, uint256 amount) external {
        bytes memory payer = abi.encode(msg.sender, tokenIn);
        // forge-lint: disable-next-line(unsafe-typecast)
        pool.swap(msg.sender, isToken0, int256(amount), isToken0 ? LOWEST : HIGHEST, payer);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        (address payer, address tokenIn) = abi.decode(data, (address, address));
        // forge-lint: disable-next-line(unsafe-typecast)
        require(IERC20(tokenIn).transferFrom(payer, msg.sender, uint256(amount0 > 0 ? amount0 : amount1)));
    }
}
