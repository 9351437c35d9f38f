// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract ConstructorTest is UniswapV3Test {
    function test_constructor__what_is_fixed_can_be_read() public view {
        assertEq(address(swaps.token()), address(token));
        assertEq(address(swaps.pool()), address(pool));
        assertEq(swaps.maxLossBps(), LOSS_BPS);
        assertEq(swaps.minLiquidity(), MIN_LIQUIDITY);
    }

    function test_constructor__no_factory__reverts() public {
        _expectRevert(_badAddress(stranger));
        _make(stranger, uniswap, address(token), FEE, LOSS_BPS, MIN_LIQUIDITY);
        _expectRevert(_badAddress(stranger));
        _make(address(factory), stranger, address(token), FEE, LOSS_BPS, MIN_LIQUIDITY);
    }

    function test_constructor__no_pool_of_that_token_and_fee__reverts() public {
        _expectRevert(_badAddress(address(0)));
        _make(address(factory), uniswap, address(token), 3_000, LOSS_BPS, MIN_LIQUIDITY);
        _expectRevert(_badAddress(address(0)));
        _make(address(factory), uniswap, address(usdc), FEE, LOSS_BPS, MIN_LIQUIDITY);
    }

    function test_constructor__all_as_a_loss_or_no_floor_of_liquidity__reverts() public {
        _expectRevert(_badTerms("maxLossBps", 10_000, 9_999));
        _make(address(factory), uniswap, address(token), FEE, 10_000, MIN_LIQUIDITY);
        _expectRevert(_badTerms("minLiquidity", 0, 1));
        _make(address(factory), uniswap, address(token), FEE, LOSS_BPS, 0);
    }

    function test_constructor__too_few_observations__reverts() public {
        token = TestToken(_deployToken("TestToken.sol", false));
        market = _deployMarket();
        _expectRevert(_badTerms("observationCardinality", 0, OBSERVATIONS));
        _make(address(factory), uniswap, address(token), FEE, LOSS_BPS, MIN_LIQUIDITY);

        usdc.mint(address(market), BUDGET);
        token.mint(address(market), WHOLE);
        market.open(PRICE, 1e12);
        pool.increaseObservationCardinalityNext(OBSERVATIONS - 1);
        _pass(1);
        market.provide(1);
        _expectRevert(_badTerms("observationCardinality", OBSERVATIONS - 1, OBSERVATIONS));
        _make(address(factory), uniswap, address(token), FEE, LOSS_BPS, MIN_LIQUIDITY);
    }

    /// @dev Paid for, but not in use before the ring is full once: the pool would forget as fast as before.
    function test_constructor__observations_that_are_only_paid_for__do_not_count() public {
        token = TestToken(_deployToken("TestToken.sol", false));
        market = _deployMarket();
        market.open(PRICE, 0);
        pool.increaseObservationCardinalityNext(OBSERVATIONS);
        _expectRevert(_badTerms("observationCardinality", 1, OBSERVATIONS));
        _make(address(factory), uniswap, address(token), FEE, LOSS_BPS, MIN_LIQUIDITY);
    }

    function _make(address factory_, address uniswap_, address token_, uint24 fee, uint256 loss, uint256 liquidity)
        private
    {
        _create("UniswapV3Adapter.sol", abi.encode(factory_, uniswap_, token_, fee, loss, liquidity));
    }

    function _badAddress(address account) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.BadAddress.selector, account);
    }
}
