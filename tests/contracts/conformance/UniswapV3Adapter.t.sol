// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {UniswapV3Adapter} from "../../../contracts/adapters/UniswapV3Adapter.sol";
import {Swapper} from "../base/Swapper.sol";
import "../base/UniswapV3Test.sol";
import "./AdapterConformance.sol";

/// @dev Uniswap's own pool, in which the attacker swaps its whole loan into the token and back.
contract UniswapV3AdapterConformanceTest is AdapterConformance, UniswapV3Market {
    Swapper internal swapper;

    function setUp() public override(AdapterConformance, Test) {
        AdapterConformance.setUp();
    }

    function test_conformance__UniswapV3Adapter() public {
        _conforms();
    }

    function _subject() internal override returns (IAdapter) {
        swapper = new Swapper();
        _deployUniswap();
        _openMarket(_deployToken("TestToken.sol", true), 1 hours);
        return _deployAdapter(address(token), MIN_LIQUIDITY);
    }

    function _open(MandateVault of_, uint256 amount) internal override {
        _execute(of_, Call(address(subject), amount, abi.encodeCall(UniswapV3Adapter.buy, (amount, 0))));
    }

    function _closing(MandateVault of_) internal view override returns (Call memory) {
        uint256 units = subject.positionOf(address(of_));
        return Call(address(subject), 0, abi.encodeCall(UniswapV3Adapter.sell, (units, 0)));
    }

    function _push(address who, uint256 loan) internal override {
        vm.startPrank(who);
        usdc.approve(address(swapper), loan);
        swapper.swap(pool, address(usdc), false, loan);
        vm.stopPrank();
    }

    function _undo(address who) internal override {
        uint256 units = token.balanceOf(who);
        vm.startPrank(who);
        token.approve(address(swapper), units);
        swapper.swap(pool, address(token), true, units);
        vm.stopPrank();
    }

    function _movePrice(uint256 priceE6) internal override {
        _settle(PRICE * priceE6 / 1e6);
    }

    /// @dev The pool's fee, what a trade moves, and a tick.
    function _tradingCostE6() internal pure override returns (uint256) {
        return 700;
    }

    /// @dev Of less, the rounding alone is above the accepted loss.
    function _leastAmount() internal pure override returns (uint256) {
        return 10_000;
    }

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](2);
        (list[0], list[1]) = (address(subject), address(pool));
    }
}
