// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {EventsLib} from "../libraries/EventsLib.sol";

/// @title TestVenue
/// @notice A venue for the local chain and test networks: one asset, one price, set by its operator.
///
/// - A position is a number of units with 6 decimals, held for whom the adapter names.
/// - The price is USDC base units for 1e6 units: 2_000_000 means that one unit costs 2 USDC.
/// - Units and payouts are rounded down, so the venue never owes more than the price says.
/// - Only the adapter trades. It pays in before a position grows, and payouts go to the holder alone.
/// - The venue pays rising prices from its own USDC. Whoever runs it keeps enough there; a sale that it cannot pay
///   reverts and the position stays.
contract TestVenue {
    using SafeCast for uint256;
    using SafeERC20 for IERC20;

    /// @notice Units of one whole.
    uint256 public constant UNIT = 1e6;

    IERC20 private immutable USDC;

    /// @notice Sets the price and, once, the adapter.
    address public immutable operator;

    /// @notice The one account that opens and closes positions for holders.
    address public adapter;

    uint96 private _priceE6;

    mapping(address holder => uint256 units) private _positions;

    modifier onlyOperator() {
        if (msg.sender != operator) revert ErrorsLib.NotOperator(msg.sender);
        _;
    }

    modifier onlyAdapter() {
        // Until an adapter is named its slot holds the zero address, from which a node will simulate calls.
        if (msg.sender != adapter || msg.sender == address(0)) revert ErrorsLib.NotAdapter(msg.sender);
        _;
    }

    /// @param usdc_ The token of payment; it must have code.
    /// @param operator_ Who sets the price.
    /// @param priceE6_ USDC base units for 1e6 units, not 0.
    constructor(address usdc_, address operator_, uint256 priceE6_) {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        if (operator_ == address(0)) revert ErrorsLib.BadAddress(operator_);
        USDC = IERC20(usdc_);
        operator = operator_;
        _setPrice(priceE6_);
    }

    // ------------------------------------------------------------------ the operator

    /// @notice Moves the price. USDC base units for 1e6 units, not 0.
    function setPrice(uint256 priceE6_) external onlyOperator {
        _setPrice(priceE6_);
    }

    /// @notice Names the adapter, once: positions must not change hands by a second one.
    function setAdapter(address adapter_) external onlyOperator {
        if (adapter_ == address(0)) revert ErrorsLib.BadAddress(adapter_);
        if (adapter != address(0)) revert ErrorsLib.AdapterAlreadySet(adapter);
        adapter = adapter_;
        emit EventsLib.VenueAdapterSet(adapter_);
    }

    function _setPrice(uint256 priceE6_) private {
        if (priceE6_ == 0) revert ErrorsLib.ZeroAmount();
        _priceE6 = priceE6_.toUint96();
        emit EventsLib.PriceSet(priceE6_);
    }

    // ------------------------------------------------------------------ the adapter

    /// @notice Grows the holder's position. The adapter has moved `amountUsdc` in before.
    /// @return units What was bought: amountUsdc * 1e6 / price, rounded down.
    function open(address holder, uint256 amountUsdc) external onlyAdapter returns (uint256 units) {
        uint256 price = _priceE6;
        units = amountUsdc * UNIT / price;
        if (units == 0) revert ErrorsLib.ZeroAmount();
        _positions[holder] += units;
        emit EventsLib.PositionOpened(holder, amountUsdc, units, price);
    }

    /// @notice Shrinks the holder's position and pays the holder.
    /// @return amountUsdc What was paid: units * price / 1e6, rounded down.
    function close(address holder, uint256 units) external onlyAdapter returns (uint256 amountUsdc) {
        if (units == 0) revert ErrorsLib.ZeroAmount();
        uint256 held = _positions[holder];
        if (units > held) revert ErrorsLib.OverPosition(units, held);
        uint256 price = _priceE6;
        amountUsdc = units * price / UNIT;
        _positions[holder] = held - units;
        emit EventsLib.PositionClosed(holder, amountUsdc, units, price);
        USDC.safeTransfer(holder, amountUsdc);
    }

    // ------------------------------------------------------------------ views

    /// @notice USDC base units for 1e6 units.
    function priceE6() external view returns (uint256) {
        return _priceE6;
    }

    /// @notice Units that are held for `holder`, 6 decimals.
    function positionOf(address holder) external view returns (uint256) {
        return _positions[holder];
    }

    /// @notice What the position is worth at the price, in USDC base units, rounded down.
    function valueOf(address holder) external view returns (uint256) {
        return _positions[holder] * _priceE6 / UNIT;
    }
}
