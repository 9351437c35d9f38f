// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {IUniswapV3Factory, IUniswapV3Pool} from "../interfaces/IUniswapV3.sol";
import {KIND_EXIT, KIND_VALUED_SPEND} from "../libraries/ConstantsLib.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {ObservationsLib} from "../libraries/ObservationsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";
import {TickLib} from "../libraries/TickLib.sol";
import {CustodyAdapter} from "./CustodyAdapter.sol";

/// @title UniswapV3Adapter
/// @notice How a vault swaps USDC into one token and back, in one Uniswap v3 pool.
///
/// CUSTODY
/// - The adapter holds the token, as CustodyAdapter says it.
/// - It swaps at the pool itself, without a router. USDC goes from the vault to the pool and from the pool to the vault
///   within one call; nothing stays here.
///
/// VALUE
/// - A position is worth what it would bring at the lower of the pool's mean prices over 30 and over 5 minutes, rounded
///   down. So a fall counts within minutes and a rise slowly, and what happens to the price within a block does not count.
///   The means are geometric. Neither the pool's fee nor what a sale moves the price by is taken off.
/// - It is unknown, and every call that needs it reverts, while the pool's mean liquidity over 30 minutes is below
///   `minLiquidity`, or its observations reach back less far than that.
/// - The pool keeps at least 1,024 observations, at most one a block: 2,048 seconds of blocks of two seconds. A pool never
///   keeps fewer than it once did, so nobody can age them out.
///
/// LOSS BY THE AGENT
/// - What a purchase brings is measured at the lower of the two means, what a sale brings at the higher: who holds one of
///   them off the market's price gains nothing by it. So a working mandate buys only while the price is not above the
///   lower mean by more than `maxLossBps`, and sells only while it is not below the higher one by more than that.
///
/// NOT GUARANTEED
/// - That the means are the market's price. Whoever holds a pool's price off the market's for minutes moves them; what
///   that costs follows from the pool's liquidity and from who trades against it. docs/venues-onchain.md has the prices.
/// - Tokens that charge for transfers are refused when they are bought; a token that begins to is left by `release`. Tokens
///   whose balances change by themselves are not to be listed.
///
/// UNITS
/// - Amounts are USDC base units (1e-6) and the token's base units, liquidity the pool's, losses basis points.
contract UniswapV3Adapter is CustodyAdapter {
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    uint16 private constant MIN_OBSERVATIONS = 1_024;
    uint256 private constant LONG = 30 minutes;
    uint256 private constant SHORT = 5 minutes;

    /// @dev The roots of the prices beyond which no pool goes, so that a swap ends only by its amount.
    uint160 private constant LOWEST_PRICE = 4_295_128_740;
    uint160 private constant HIGHEST_PRICE = 1461446703485210103287273052203988822378723970341;

    bool private immutable IS_USDC_TOKEN0;

    /// @notice What is bought.
    IERC20 public immutable token;

    /// @notice Where.
    IUniswapV3Pool public immutable pool;

    /// @notice The harmonic mean of the pool's liquidity over 30 minutes below which nothing is valued.
    uint256 public immutable minLiquidity;

    mapping(address vault => uint256) private _unitsOf;

    /// @param fee The pool's, in millionths.
    constructor(
        address factory_,
        address uniswapFactory,
        address token_,
        uint24 fee,
        uint256 maxLossBps_,
        uint256 minLiquidity_
    ) CustodyAdapter(factory_, maxLossBps_) {
        if (uniswapFactory.code.length == 0) revert ErrorsLib.BadAddress(uniswapFactory);
        if (minLiquidity_ == 0) revert ErrorsLib.BadTerms("minLiquidity", 0, 1);
        address pool_ = IUniswapV3Factory(uniswapFactory).getPool(address(USDC), token_, fee);
        if (pool_ == address(0)) revert ErrorsLib.BadAddress(pool_);
        (,,, uint16 observations,,,) = IUniswapV3Pool(pool_).slot0();
        if (observations < MIN_OBSERVATIONS) {
            revert ErrorsLib.BadTerms("observationCardinality", observations, MIN_OBSERVATIONS);
        }
        IS_USDC_TOKEN0 = address(USDC) < token_;
        (token, pool, minLiquidity) = (IERC20(token_), IUniswapV3Pool(pool_), minLiquidity_);
    }

    // ------------------------------------------------------------------ vaults

    /// @notice Swaps `amountUsdc` of the calling vault's allowance into the token.
    /// @param minUnits The fewest units that the agent accepts.
    /// @return units What the pool sent, which must all arrive here.
    function buy(uint256 amountUsdc, uint256 minUnits) external nonReentrant returns (uint256 units) {
        if (!FACTORY.isVault(msg.sender)) revert ErrorsLib.NotAVault(msg.sender);
        if (amountUsdc == 0) revert ErrorsLib.ZeroAmount();
        uint256 before = token.balanceOf(address(this));
        units = _swap(address(this), IS_USDC_TOKEN0, amountUsdc, abi.encode(msg.sender));
        uint256 arrived = token.balanceOf(address(this)) - before;
        if (arrived < units) revert ErrorsLib.UnderMinOut(arrived, units);
        if (units < minUnits) revert ErrorsLib.UnderMinOut(units, minUnits);
        _requireWorth(_value(units), amountUsdc);
        _unitsOf[msg.sender] += units;
    }

    /// @notice Swaps units of the calling vault into USDC, which goes to it.
    /// @param minUsdc The least that the caller accepts.
    /// @return amountUsdc What arrived there.
    function sell(uint256 units, uint256 minUsdc) external nonReentrant returns (uint256 amountUsdc) {
        uint256 held = _unitsOf[msg.sender];
        if (units == 0) revert ErrorsLib.ZeroAmount();
        if (units > held) revert ErrorsLib.OverPosition(units, held);
        _unitsOf[msg.sender] = held - units;
        uint256 before = USDC.balanceOf(msg.sender);
        _swap(msg.sender, !IS_USDC_TOKEN0, units, "");
        amountUsdc = USDC.balanceOf(msg.sender) - before;
        if (amountUsdc < minUsdc) revert ErrorsLib.UnderMinOut(amountUsdc, minUsdc);
        if (!_works(msg.sender)) return amountUsdc;
        (, int256 higher) = _meanTicks();
        _requireWorth(amountUsdc, TickLib.quoteDown(units, higher));
    }

    /// @notice Pays the pool for the swap that this contract is in.
    /// @param data The vault that pays, in USDC; empty: this contract pays, in the token.
    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        if (msg.sender != address(pool) || !_reentrancyGuardEntered()) revert ErrorsLib.BadAddress(msg.sender);
        uint256 owed = uint256(amount0 > 0 ? amount0 : amount1);
        if (data.length == 0) token.safeTransfer(msg.sender, owed);
        else USDC.safeTransferFrom(abi.decode(data, (address)), msg.sender, owed);
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IAdapter
    function valueOf(address vault) external view returns (uint256) {
        uint256 units = _unitsOf[vault];
        return units == 0 ? 0 : _value(units);
    }

    /// @inheritdoc IAdapter
    /// @dev Base units of the token.
    function positionOf(address vault) external view returns (uint256) {
        return _unitsOf[vault];
    }

    /// @inheritdoc IAdapter
    /// @dev 0 for a token of which 1e6 base units are worth less than one of USDC: most of 18 decimals.
    function unitPrice() external view returns (uint256) {
        return _value(1e6);
    }

    /// @inheritdoc IAdapter
    /// @dev Sorted: release 0x86d1a69f, buy 0xd6febde8, sell 0xd79875eb.
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](3);
        list[0] = _rule(this.release.selector, KIND_EXIT);
        list[1] = _rule(this.buy.selector, KIND_VALUED_SPEND);
        list[2] = _rule(this.sell.selector, KIND_EXIT);
    }

    // ------------------------------------------------------------------ inside

    function _clear(address vault) internal override returns (IERC20 held, uint256 units) {
        (held, units) = (token, _unitsOf[vault]);
        delete _unitsOf[vault];
    }

    /// @dev All of `amount` goes in, or it reverts with what the pool would take of it. Answers what the pool sent.
    function _swap(address recipient, bool isToken0, uint256 amount, bytes memory payer) private returns (uint256) {
        uint160 limit = isToken0 ? LOWEST_PRICE : HIGHEST_PRICE;
        (int256 amount0, int256 amount1) = pool.swap(recipient, isToken0, amount.toInt256(), limit, payer);
        (int256 taken, int256 sent) = isToken0 ? (amount0, amount1) : (amount1, amount0);
        if (uint256(taken) != amount) revert ErrorsLib.UnderMinOut(uint256(taken), amount);
        return uint256(-sent);
    }

    /// @dev At the lower of the two mean prices, rounded down.
    function _value(uint256 units) private view returns (uint256) {
        (int256 lower,) = _meanTicks();
        return TickLib.quoteDown(units, lower);
    }

    /// @dev Of the two mean prices of the token in USDC. Reverts while the pool has too little liquidity.
    function _meanTicks() private view returns (int256 lower, int256 higher) {
        (int256 long, int256 short, uint256 secondsPerLiquidity) = ObservationsLib.sums(pool, LONG, SHORT);
        // No division by zero: a second counts 1 at least, since liquidity is below 2^128.
        uint256 liquidity = (LONG << 128) / secondsPerLiquidity;
        if (liquidity < minLiquidity) revert ErrorsLib.BadTerms("liquidity", liquidity, minLiquidity);
        (lower, higher) = (_meanTick(long, LONG), _meanTick(short, SHORT));
        if (lower > higher) (lower, higher) = (higher, lower);
    }

    /// @dev Rounded down. The pool rounds each second's tick down, which is up for the reciprocal.
    function _meanTick(int256 sum, uint256 time) private view returns (int256 tick) {
        int256 divisor = int256(time);
        if (IS_USDC_TOKEN0) sum = -sum - divisor;
        tick = sum / divisor;
        if (sum % divisor < 0) --tick;
    }
}
