// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {FaultyPool} from "../../../contracts/mocks/FaultyPool.sol";

/// @notice Lends on what it has, and pays no more at once than it keeps; the rest of who leaves waits.
contract QueuedPool is FaultyPool {
    uint256 private _kept = type(uint128).max;

    constructor(address usdc) FaultyPool(usdc) {}

    function setKept(uint256 amountUsdc) external {
        _kept = amountUsdc;
    }

    function maxRedeem(address owner) public view override returns (uint256) {
        return Math.min(super.maxRedeem(owner), convertToShares(_kept));
    }
}

/// @notice Takes USDC, says that it minted shares, and mints none.
contract TakingPool is FaultyPool {
    constructor(address usdc) FaultyPool(usdc) {}

    function deposit(uint256 assets, address receiver) public override returns (uint256 shares) {
        shares = super.deposit(assets, receiver);
        _burn(receiver, shares);
    }
}

/// @notice Calls somebody in the middle of a deposit and of a redemption.
contract CallingPool is FaultyPool {
    address private _target;
    bytes private _data;

    /// @notice What the call in the middle answered.
    bool public answered;
    bytes public answer;

    constructor(address usdc) FaultyPool(usdc) {}

    function setHook(address target, bytes calldata data) external {
        (_target, _data) = (target, data);
    }

    function deposit(uint256 assets, address receiver) public override returns (uint256) {
        _call();
        return super.deposit(assets, receiver);
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256) {
        _call();
        return super.redeem(shares, receiver, owner);
    }

    function _call() private {
        if (_target != address(0)) (answered, answer) = _target.call(_data);
    }
}
