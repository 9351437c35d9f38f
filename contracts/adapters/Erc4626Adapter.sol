// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {BPS, KIND_EXIT, KIND_VALUED_SPEND} from "../libraries/ConstantsLib.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";
import {CustodyAdapter} from "./CustodyAdapter.sol";

/// @title Erc4626Adapter
/// @notice How a vault lends USDC through one ERC-4626 vault, the pool.
///
/// CUSTODY
/// - The adapter holds the pool's shares, as CustodyAdapter says it.
/// - USDC goes from the vault to the pool and from the pool to the vault within one call; nothing stays here.
///
/// VALUE
/// - A position is worth what the pool converts its shares to, less the exit fee, and no more than its ceiling: what the
///   mandate itself paid for it, growing by `maxGrowthBps` a year. So nobody who lifts the pool's rate within a block
///   lifts a worth by more than that growth.
/// - Nothing bounds the value from below. Only a pool whose rate nobody can lower within a transaction is to be listed.
/// - No rate is stored: who stores one inside a dip would fix it.
///
/// UNITS
/// - Amounts are USDC base units (1e-6), positions the pool's shares, rates basis points, times unix seconds.
contract Erc4626Adapter is CustodyAdapter {
    using Math for uint256;
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @dev One slot. `ceiling`: USDC base units at `since`.
    struct Position {
        uint120 shares;
        uint96 ceiling;
        uint40 since;
    }

    /// @notice The ERC-4626 vault whose asset is USDC.
    IERC4626 public immutable pool;

    /// @notice What leaving the pool costs, taken off every value.
    uint256 public immutable exitFeeBps;

    /// @notice By how much of its cost a position's value may grow in 365 days.
    uint256 public immutable maxGrowthBps;

    mapping(address vault => Position) private _positions;

    constructor(address factory_, address pool_, uint256 exitFeeBps_, uint256 maxGrowthBps_, uint256 maxLossBps_)
        CustodyAdapter(factory_, maxLossBps_)
    {
        if (pool_.code.length == 0 || IERC4626(pool_).asset() != address(USDC)) revert ErrorsLib.BadAddress(pool_);
        if (exitFeeBps_ >= BPS) revert ErrorsLib.BadTerms("exitFeeBps", exitFeeBps_, BPS - 1);
        pool = IERC4626(pool_);
        (exitFeeBps, maxGrowthBps) = (exitFeeBps_, maxGrowthBps_);
        // Once for all: between calls there is nothing here to take.
        USDC.forceApprove(pool_, type(uint256).max);
    }

    // ------------------------------------------------------------------ vaults

    /// @notice Lends `amountUsdc` of the calling vault's allowance.
    /// @param minShares The fewest shares that the agent accepts.
    /// @return shares What the pool minted, by this contract's balance.
    function deposit(uint256 amountUsdc, uint256 minShares) external nonReentrant returns (uint256 shares) {
        if (!FACTORY.isVault(msg.sender)) revert ErrorsLib.NotAVault(msg.sender);
        if (amountUsdc == 0) revert ErrorsLib.ZeroAmount();
        USDC.safeTransferFrom(msg.sender, address(this), amountUsdc);
        uint256 before = pool.balanceOf(address(this));
        pool.deposit(amountUsdc, address(this));
        shares = pool.balanceOf(address(this)) - before;
        if (shares < minShares) revert ErrorsLib.UnderMinOut(shares, minShares);
        _requireWorth(pool.convertToAssets(shares), amountUsdc);

        Position memory position = _positions[msg.sender];
        _book(msg.sender, position.shares + shares, _ceiling(position) + amountUsdc);
    }

    /// @notice Redeems shares of the calling vault; the USDC goes to it.
    /// @param minUsdc The least that the caller accepts.
    /// @return amountUsdc What arrived there.
    function redeem(uint256 shares, uint256 minUsdc) external nonReentrant returns (uint256 amountUsdc) {
        Position memory position = _positions[msg.sender];
        if (shares == 0) revert ErrorsLib.ZeroAmount();
        if (shares > position.shares) revert ErrorsLib.OverPosition(shares, position.shares);
        uint256 left = position.shares - shares;
        uint256 ceiling = _ceiling(position);
        uint256 ceilingLeft = ceiling.mulDiv(left, position.shares);
        bool works = _works(msg.sender);
        uint256 value = works ? _lent(shares).min(ceiling - ceilingLeft) : 0;
        _book(msg.sender, left, ceilingLeft);

        uint256 before = USDC.balanceOf(msg.sender);
        pool.redeem(shares, msg.sender, address(this));
        amountUsdc = USDC.balanceOf(msg.sender) - before;
        if (amountUsdc < minUsdc) revert ErrorsLib.UnderMinOut(amountUsdc, minUsdc);
        if (works) _requireWorth(amountUsdc, value);
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IAdapter
    function valueOf(address vault) external view returns (uint256) {
        Position memory position = _positions[vault];
        if (position.shares == 0) return 0;
        return _lent(position.shares).min(_ceiling(position));
    }

    /// @inheritdoc IAdapter
    /// @dev Shares of the pool.
    function positionOf(address vault) external view returns (uint256) {
        return _positions[vault].shares;
    }

    /// @inheritdoc IAdapter
    /// @dev The pool's rate less the exit fee. A position's ceiling is not in it.
    function unitPrice() external view returns (uint256) {
        return _lent(1e6);
    }

    /// @inheritdoc IAdapter
    /// @dev Sorted: redeem 0x7cbc2373, release 0x86d1a69f, deposit 0xe2bbb158.
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](3);
        list[0] = _rule(this.redeem.selector, KIND_EXIT);
        list[1] = _rule(this.release.selector, KIND_EXIT);
        list[2] = _rule(this.deposit.selector, KIND_VALUED_SPEND);
    }

    /// @notice The most that the position of `vault` counts for now.
    function ceilingOf(address vault) external view returns (uint256) {
        return _ceiling(_positions[vault]);
    }

    // ------------------------------------------------------------------ inside

    function _clear(address vault) internal override returns (IERC20 held, uint256 units) {
        (held, units) = (IERC20(address(pool)), _positions[vault].shares);
        delete _positions[vault];
    }

    /// @dev What the pool converts shares to, less the exit fee, rounded down.
    function _lent(uint256 shares) private view returns (uint256) {
        return pool.convertToAssets(shares).mulDiv(BPS - exitFeeBps, BPS);
    }

    /// @dev Grows linearly from one write to the next, rounded down.
    function _ceiling(Position memory position) private view returns (uint256) {
        uint256 grown = maxGrowthBps * (block.timestamp - position.since);
        return position.ceiling + uint256(position.ceiling).mulDiv(grown, BPS * 365 days);
    }

    function _book(address vault, uint256 shares, uint256 ceiling) private {
        _positions[vault] = Position(shares.toUint120(), ceiling.toUint96(), block.timestamp.toUint40());
    }
}
