// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Swapper} from "../base/Swapper.sol";
import "../base/UniswapV3Test.sol";
import "./GasTest.sol";

/// @dev What the mandate adds to a swap at a pool whose price moved in each of the last 1,024 blocks, beside the same by a
/// person through the least of routers.
contract SwapsGas is UniswapV3Test, GasTest {
    Swapper private _swapper;

    function setUp() public override(UniswapV3Test, Test) {
        UniswapV3Test.setUp();
        _swapper = new Swapper();
        _hold(9 * USD);
        usdc.mint(stranger, 100 * USD);
        token.mint(stranger, WHOLE);
        vm.startPrank(stranger);
        usdc.approve(address(_swapper), type(uint256).max);
        token.approve(address(_swapper), type(uint256).max);
        vm.stopPrank();
        for (uint256 i; i < OBSERVATIONS; ++i) {
            _pass(2);
            market.moveTo(PRICE + (i % 2) * USD);
        }
        _pass(2);
    }

    function test_gas__swap_in__beside_the_bare_swap() public {
        _hold(9 * USD);
        _record("swap_in");
        _pass(2);
        vm.prank(stranger);
        _swapper.swap(pool, address(usdc), false, 9 * USD);
        _record("pool_swap_in");
        vm.assertLt(17 * USD, _value());
    }

    function test_gas__swap_back__beside_the_bare_swap() public {
        _execute(vault, _swapBack(0.001 ether, 0));
        _record("swap_back");
        _pass(2);
        vm.prank(stranger);
        _swapper.swap(pool, address(token), true, 0.001 ether);
        _record("pool_swap_back");
        vm.assertLt(6 * USD, _value());
    }

    function test_gas__a_value() public {
        uint256 value = _value();
        _record("swap_value");
        vm.assertLt(8 * USD, value);
    }
}
