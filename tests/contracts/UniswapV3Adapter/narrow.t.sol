// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

/// @dev A pool whose liquidity lies within a tenth of the price: beyond it, the price goes anywhere for nothing. Who moves it
/// out of there pays for crossing it, and that alone. docs/venues-onchain.md says what follows for `minLiquidity`.
contract NarrowPoolTest is UniswapV3Test {
    int24 private constant TICK = -198_080; // of 2,500 USDC
    // As roots, times 2^96: a little below tick -700,000, and tick 700,000.
    uint160 private constant LOW = 50_041_772_226_481;
    uint160 private constant HIGH = 125437238852717229072740403726643244412679815;
    int24 private constant WIDTH = 1_050; // ticks of a tenth, about

    function setUp() public override {
        super.setUp();
        token = TestToken(_deployToken("TestToken.sol", true));
        market = _deployMarket();
        usdc.mint(address(market), 1_000_000_000 * USD);
        token.mint(address(market), 400_000 * WHOLE);
        usdc.mint(address(this), 1_000_000_000 * USD);
        token.mint(address(this), 400_000 * WHOLE);
        market.open(PRICE, 0);
        pool.mint(address(this), TICK - WIDTH, TICK + WIDTH, LIQUIDITY, "");
        pool.increaseObservationCardinalityNext(OBSERVATIONS);
        _pass(1 hours);
        market.moveTo(PRICE + USD);
        market.moveTo(PRICE);
        swaps = _deployAdapter(address(token), MIN_LIQUIDITY);
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();
        _hold(100 * USD);
    }

    function uniswapV3MintCallback(uint256 owed0, uint256 owed1, bytes calldata) external {
        token.transfer(address(pool), owed0);
        usdc.transfer(address(pool), owed1);
    }

    function uniswapV3SwapCallback(int256 owed0, int256 owed1, bytes calldata) external {
        if (owed0 > 0) token.transfer(address(pool), uint256(owed0));
        if (owed1 > 0) usdc.transfer(address(pool), uint256(owed1));
    }

    function test_attack__a_block_beyond_all_liquidity__makes_the_value_unknown() public {
        market.moveTo(1);
        _pass(2);
        vm.expectPartialRevert(ErrorsLib.BadTerms.selector);
        swaps.valueOf(address(vault));
    }

    function test_attack__a_block_beyond_all_liquidity_but_ones_own__lowers_the_value_by_a_quarter_for_the_crossing()
        public
    {
        uint256 value = _value();
        _leaveForABlock(-700_010, LOW);

        _assertNear(_value(), value * 7_156 / 10_000, 10);
    }

    /// @dev As a router that keeps change would: the pool ends at its last price and leaves the rest of what was offered.
    function test_attack__a_pool_that_takes_only_a_part__reverts_and_takes_nothing() public {
        bytes memory burning =
            abi.encodeWithSignature("burn(int24,int24,uint128)", TICK - WIDTH, TICK + WIDTH, LIQUIDITY - 1e9);
        (bool burnt,) = address(pool).call(burning);
        assertTrue(burnt);
        uint256 before = usdc.balanceOf(address(vault));
        uint256 held = _units();
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapIn(100 * USD, 0));
        assertEq(usdc.balanceOf(address(vault)), before);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapBack(held, 0));
        assertEq(_units(), held);
    }

    /// @dev The mean of thirty minutes fell by 5.4 %, to 0.9458.
    function test_attack__a_block_beyond_all_liquidity_but_ones_own__makes_a_sale_a_twentieth_cheaper() public {
        _leaveForABlock(-700_010, LOW);

        assertFalse(_trades(_swapBack(_units(), 0), PRICE * 935 / 1_000));
        assertTrue(_trades(_swapBack(_units(), 0), PRICE * 938 / 1_000));
    }

    /// @dev The mean of thirty minutes rose by 10.5 %. That dear the attacker alone sells.
    function test_attack__a_block_above_all_liquidity_but_ones_own__makes_a_purchase_a_tenth_dearer() public {
        _leaveForABlock(700_000, HIGH);
        pool.mint(address(this), TICK + WIDTH, TICK + WIDTH + 250, LIQUIDITY, "");

        assertFalse(_trades(_swapIn(100 * USD, 0), PRICE * 1_118 / 1_000));
        assertTrue(_trades(_swapIn(100 * USD, 0), PRICE * 1_114 / 1_000));
    }

    /// @dev Out of the pool's liquidity, to where there is a little of one's own, for the price of crossing the former.
    function _leaveForABlock(int24 tick, uint160 root) private {
        pool.mint(address(this), tick, tick + 10, 1e15, "");
        uint256 before = _holdings();
        pool.swap(address(this), root == LOW, type(int256).max, root, "");
        _assertNear(before - _holdings(), 139_178 * USD, 100); // 0.28 % of 50 million
        _pass(2);
    }

    function _trades(Call memory call_, uint256 price) private returns (bool passed) {
        market.moveTo(price);
        vm.prank(agent);
        (passed,) = address(vault).call(abi.encodeCall(vault.execute, (call_)));
    }

    /// @dev Of this test, which trades, at the price that everybody else has.
    function _holdings() private view returns (uint256) {
        return usdc.balanceOf(address(this)) + token.balanceOf(address(this)) * PRICE / WHOLE;
    }
}
