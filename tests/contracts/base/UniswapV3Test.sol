// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {TestMarket} from "../../../contracts/adapters/TestMarket.sol";
import {TestToken} from "../../../contracts/adapters/TestToken.sol";
import {UniswapV3Adapter} from "../../../contracts/adapters/UniswapV3Adapter.sol";
import {IUniswapV3Pool} from "../../../contracts/interfaces/IUniswapV3.sol";
import "./Test.sol";

/// @notice A mandate that may swap USDC into a token at 2,500 USDC in Uniswap's own pool, which has 50 million USDC and
/// 20,000 of the token at all prices, and an hour behind it. A working mandate loses 1 % at most by a purchase or a sale.
abstract contract UniswapV3Test is Test {
    string internal constant UNISWAP = "node_modules/@uniswap/v3-core/artifacts/contracts/";
    uint256 internal constant WHOLE = 1e18; // of the token
    uint256 internal constant PRICE = 2_500 * USD;
    uint128 internal constant LIQUIDITY = 1e18;
    uint256 internal constant MIN_LIQUIDITY = 4e17;
    uint256 internal constant LOSS_BPS = 100;
    uint24 internal constant FEE = 500; // 0.05 %
    uint16 internal constant OBSERVATIONS = 1_024;

    address internal uniswap;
    TestToken internal token;
    TestMarket internal market;
    IUniswapV3Pool internal pool;
    UniswapV3Adapter internal swaps;
    MandateVault internal vault;

    function setUp() public virtual override {
        super.setUp();
        uniswap = vm.deployCode(string.concat(UNISWAP, "UniswapV3Factory.sol/UniswapV3Factory.json"));
        _openMarket(_deployToken("TestToken.sol", true));
        swaps = _deployAdapter();
        _addSwapRules();
        vault = _createWorking();
    }

    /// @dev Whose address is below USDC's, or above it.
    function _deployToken(string memory artifact, bool isBelow) internal returns (address made) {
        do {
            made = vm.deployCode(artifact);
        } while (made < address(usdc) != isBelow);
    }

    /// @dev Opens the pool an hour ago, grows its ring and leaves it full of one price.
    function _openMarket(address token_) internal {
        token = TestToken(token_);
        market = _deployMarket();
        usdc.mint(address(market), 10_000_000_000 * USD);
        token.mint(address(market), 4_000_000 * WHOLE);
        market.open(PRICE, LIQUIDITY);
        pool.increaseObservationCardinalityNext(OBSERVATIONS);
        _pass(1 hours);
        market.provide(1);
    }

    function _deployMarket() internal returns (TestMarket made) {
        made = TestMarket(
            vm.deployCode("TestMarket.sol", abi.encode(uniswap, address(usdc), address(token), uint256(FEE)))
        );
        pool = made.pool();
    }

    function _deployAdapter() internal returns (UniswapV3Adapter made) {
        made = UniswapV3Adapter(vm.deployCode("UniswapV3Adapter.sol", _arguments(address(token), LOSS_BPS)));
        vm.prank(admin);
        factory.listAdapter(address(made));
    }

    function _arguments(address token_, uint256 lossBps) internal view returns (bytes memory) {
        return abi.encode(address(factory), uniswap, token_, uint256(FEE), lossBps, MIN_LIQUIDITY);
    }

    function _addSwapRules() internal {
        Rule[] memory list = swaps.rules();
        for (uint256 i; i < list.length; ++i) {
            _addRule(list[i].target, list[i].selector, list[i].recipientWord, list[i].kind);
        }
    }

    function _pass(uint256 time) internal {
        vm.warp(block.timestamp + time);
        vm.roll(block.number + (time + 1) / 2);
    }

    /// @dev The price, and enough time that the means have it too.
    function _settle(uint256 price) internal {
        market.moveTo(price);
        _pass(30 minutes);
    }

    function _swapIn(uint256 amount, uint256 minUnits) internal view returns (Call memory) {
        return Call(address(swaps), amount, abi.encodeCall(UniswapV3Adapter.buy, (amount, minUnits)));
    }

    function _swapBack(uint256 units, uint256 minUsdc) internal view returns (Call memory) {
        return Call(address(swaps), 0, abi.encodeCall(UniswapV3Adapter.sell, (units, minUsdc)));
    }

    function _release() internal view returns (Call memory) {
        return Call(address(swaps), 0, abi.encodeCall(UniswapV3Adapter.release, ()));
    }

    function _hold(uint256 amount) internal {
        _execute(vault, _swapIn(amount, 0));
    }

    /// @dev By the owner.
    function _unwind(Call memory call_) internal {
        vm.prank(owner);
        vault.unwind(_batch(call_));
    }

    function _value() internal view returns (uint256) {
        return swaps.valueOf(address(vault));
    }

    function _units() internal view returns (uint256) {
        return swaps.positionOf(address(vault));
    }

    function _underMinOut(uint256 out, uint256 minOut) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.UnderMinOut.selector, out, minOut);
    }

    /// @dev `left` is no more than `by` in ten thousand from `right`.
    function _assertNear(uint256 left, uint256 right, uint256 by) internal pure {
        vm.assertLe(left > right ? left - right : right - left, right * by / 10_000);
    }
}
