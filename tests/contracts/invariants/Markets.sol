// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {CustodyAdapter} from "../../../contracts/adapters/CustodyAdapter.sol";
import {Erc4626Adapter} from "../../../contracts/adapters/Erc4626Adapter.sol";
import {IAdapter} from "../../../contracts/interfaces/IAdapter.sol";
import {FaultyPool} from "../../../contracts/mocks/FaultyPool.sol";
import "../base/UniswapV3Test.sol";

/// @title Markets
/// @notice The honest venues, each with its adapter: the test venue, a pool that lends, and Uniswap's own pool.
abstract contract Markets is UniswapV3Market {
    FaultyPool internal lender;
    Erc4626Adapter public lending;
    UniswapV3Adapter public swaps;

    /// @notice What an adapter holds that somebody sent to it.
    mapping(address adapter => uint256) public gifts;

    /// @dev The market is an hour old, so that its prices are known from the first second on.
    function _deployMarkets() internal {
        lender = FaultyPool(vm.deployCode("FaultyPool.sol", abi.encode(address(usdc))));
        bytes memory arguments = abi.encode(address(factory), address(lender), uint256(0), uint256(2_000), uint256(50));
        lending = Erc4626Adapter(vm.deployCode("Erc4626Adapter.sol", arguments));
        vm.prank(admin);
        factory.listAdapter(address(lending));
        usdc.mint(address(this), BUDGET);
        usdc.approve(address(lender), BUDGET);
        lender.deposit(BUDGET, address(this));

        vm.warp(NOW - 1 hours);
        _deployUniswap();
        _openMarket(_deployToken("TestToken.sol", true), 1 hours);
        swaps = _deployAdapter(address(token), MIN_LIQUIDITY);
        vm.warp(NOW);
        vm.roll(BLOCK);
    }

    function _addMarketRules() internal {
        for (uint256 which; which < 3; ++which) {
            Rule[] memory list = _honest(which).rules();
            for (uint256 i; i < list.length; ++i) {
                _addRule(list[i].target, list[i].selector, list[i].recipientWord, list[i].kind);
            }
        }
    }

    function _honest(uint256 which) internal view returns (IAdapter) {
        if (which % 3 == 0) return adapter;
        return which % 3 == 1 ? IAdapter(lending) : IAdapter(swaps);
    }

    function _entry(IAdapter at, uint256 amount) internal view returns (Call memory) {
        if (at == adapter) return _buy(amount);
        bytes memory data = at == lending
            ? abi.encodeCall(Erc4626Adapter.deposit, (amount, 0))
            : abi.encodeCall(UniswapV3Adapter.buy, (amount, 0));
        return Call(address(at), amount, data);
    }

    function _exit(IAdapter at, uint256 units) internal view returns (Call memory) {
        if (at == adapter) return _sell(units);
        bytes memory data = at == lending
            ? abi.encodeCall(Erc4626Adapter.redeem, (units, 0))
            : abi.encodeCall(UniswapV3Adapter.sell, (units, 0));
        return Call(address(at), 0, data);
    }

    /// @dev All that is held, past the venue.
    function _releaseOf(IAdapter at) internal pure returns (Call memory) {
        return Call(address(at), 0, abi.encodeCall(CustodyAdapter.release, ()));
    }

    /// @dev The pool gains, loses a tenth at most, pauses or charges; the market moves; somebody sends to the adapters.
    function _moveMarkets(uint256 which, uint256 amount) internal {
        if (which % 6 == 0) usdc.mint(address(lender), amount % BUDGET);
        else if (which % 6 == 1) lender.lose(amount % (1 + lender.totalAssets() / 10));
        else if (which % 6 == 2) lender.setPaused(amount % 4 == 0);
        else if (which % 6 == 3) lender.setFees(amount % 60, (amount >> 8) % 60);
        else if (which % 6 == 4) market.moveTo(PRICE * _percent(amount) / 100);
        else _sendGifts(amount);
    }

    function _percent(uint256 amount) private pure returns (uint256) {
        return 60 + amount % 100;
    }

    function _sendGifts(uint256 amount) private {
        uint256 shares = amount % (1 + lender.balanceOf(address(this)) / 100);
        lender.transfer(address(lending), shares);
        gifts[address(lending)] += shares;
        token.mint(address(swaps), amount % WHOLE);
        gifts[address(swaps)] += amount % WHOLE;
    }
}
