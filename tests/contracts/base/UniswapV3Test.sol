// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {TestMarket} from "../../../contracts/adapters/TestMarket.sol";
import {TestToken} from "../../../contracts/adapters/TestToken.sol";
import {UniswapV3Adapter} from "../../../contracts/adapters/UniswapV3Adapter.sol";
import {IUniswapV3Pool} from "../../../contracts/interfaces/IUniswapV3.sol";
import {FaultyToken} from "../../../contracts/mocks/FaultyToken.sol";
import "./CustodyTest.sol";

/// @notice Uniswap's own factory and pools of USDC and one token, from its package: 50 million USDC and 20,000 of the token at
/// all prices, 2,500 USDC for one, and 1,024 observations.
abstract contract UniswapV3Market is Test {
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

    function _deployUniswap() internal {
        uniswap = vm.deployCode(string.concat(UNISWAP, "UniswapV3Factory.sol/UniswapV3Factory.json"));
    }

    /// @dev Whose address is below USDC's, or above it.
    function _deployToken(string memory artifact, bool isBelow) internal returns (address made) {
        do {
            made = vm.deployCode(artifact);
        } while (made < address(usdc) != isBelow);
    }

    /// @dev A pool that has had one price since it was opened.
    function _openMarket(address token_, uint256 age) internal {
        token = TestToken(token_);
        market = _deployMarket();
        usdc.mint(address(market), 10_000_000_000 * USD);
        token.mint(address(market), 4_000_000 * WHOLE);
        market.open(PRICE, LIQUIDITY);
        pool.increaseObservationCardinalityNext(OBSERVATIONS);
        _pass(age);
        market.provide(1);
    }

    function _deployMarket() internal returns (TestMarket made) {
        made = TestMarket(
            vm.deployCode("TestMarket.sol", abi.encode(uniswap, address(usdc), address(token), uint256(FEE)))
        );
        pool = made.pool();
    }

    function _deployAdapter(address token_, uint256 minLiquidity) internal returns (UniswapV3Adapter made) {
        bytes memory arguments = abi.encode(address(factory), uniswap, token_, uint256(FEE), LOSS_BPS, minLiquidity);
        made = UniswapV3Adapter(vm.deployCode("UniswapV3Adapter.sol", arguments));
        vm.prank(admin);
        factory.listAdapter(address(made));
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
}

/// @notice A mandate that may swap USDC into the token and back. While it works it loses 1 % at most by a purchase or a sale.
abstract contract UniswapV3Test is UniswapV3Market, CustodyTest {
    UniswapV3Adapter internal swaps;

    function setUp() public virtual override {
        super.setUp();
        _deployUniswap();
        _useToken(_deployToken("TestToken.sol", true));
    }

    function _useToken(address token_) internal {
        _useToken(token_, 1 hours);
    }

    /// @dev A pool of that age, its adapter, and a mandate for it.
    function _useToken(address token_, uint256 age) internal {
        _openMarket(token_, age);
        swaps = _deployAdapter(token_, MIN_LIQUIDITY);
        _clearRules();
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();
    }

    function _swapIn(uint256 amount, uint256 minUnits) internal view returns (Call memory) {
        return Call(address(swaps), amount, abi.encodeCall(UniswapV3Adapter.buy, (amount, minUnits)));
    }

    function _swapBack(uint256 units, uint256 minUsdc) internal view returns (Call memory) {
        return Call(address(swaps), 0, abi.encodeCall(UniswapV3Adapter.sell, (units, minUsdc)));
    }

    function _hold(uint256 amount) internal {
        _execute(vault, _swapIn(amount, 0));
    }

    function _subject() internal view override returns (CustodyAdapter) {
        return swaps;
    }

    /// @dev As of a pool that does not answer.
    function _breakObservations() internal {
        vm.mockCallRevert(address(pool), abi.encodeWithSelector(IUniswapV3Pool.observations.selector), "broken");
    }

    function _old(uint256 age) internal pure returns (bytes memory) {
        return _badTerms("observations", age, 30 minutes);
    }

    function _badTerms(bytes32 field, uint256 value, uint256 bound) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.BadTerms.selector, field, value, bound);
    }

    /// @dev `left` is no more than `by` in ten thousand from `right`.
    function _assertNear(uint256 left, uint256 right, uint256 by) internal pure {
        vm.assertLe(left > right ? left - right : right - left, right * by / 10_000);
    }
}
