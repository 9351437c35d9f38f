// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

import {BPS} from "../libraries/ConstantsLib.sol";

/// @title FaultyToken
/// @notice A token of 18 decimals that fails as real ones do: it charges for transfers, answers nothing, is paused, or calls
/// somebody in the middle of a transfer.
contract FaultyToken is ERC20 {
    error TokenPaused();

    uint256 private _feeBps;
    bool private _isPaused;
    bool private _isSilent;
    address private _target;
    bytes private _data;

    /// @notice What the call in the middle answered.
    bool public answered;
    bytes public answer;

    constructor() ERC20("Faulty token", "FAULT") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function setFee(uint256 feeBps) external {
        _feeBps = feeBps;
    }

    function setPaused(bool isPaused) external {
        _isPaused = isPaused;
    }

    function setSilent(bool isSilent) external {
        _isSilent = isSilent;
    }

    /// @notice Calls `target` with `data` in the next transfer.
    function setHook(address target, bytes calldata data) external {
        (_target, _data) = (target, data);
    }

    function transfer(address to, uint256 value) public override returns (bool) {
        _transfer(msg.sender, to, value);
        if (_isSilent) {
            assembly ("memory-safe") {
                return(0, 0)
            }
        }
        return true;
    }

    function _update(address from, address to, uint256 value) internal override {
        if (_isPaused) revert TokenPaused();
        uint256 fee = from == address(0) ? 0 : value * _feeBps / BPS;
        super._update(from, to, value - fee);
        if (fee != 0) super._update(from, address(0xDEAD), fee);
        if (_target == address(0)) return;
        address target = _target;
        _target = address(0);
        (answered, answer) = target.call(_data);
    }
}
