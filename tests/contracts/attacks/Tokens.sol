// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MockUSDC} from "../../../contracts/mocks/MockUSDC.sol";

/// @title HookUSDC
/// @notice A token that calls somebody in the middle of each transfer. USDC does not; the guard must not need that.
contract HookUSDC is MockUSDC {
    address private _target;
    bytes private _data;

    /// @notice What the call in the middle answered.
    bool public answered;
    bytes public answer;
    uint256 public calls;

    /// @notice Calls `target` with `data` in each transfer from now on.
    function setHook(address target, bytes calldata data) external {
        (_target, _data) = (target, data);
    }

    function _update(address from, address to, uint256 value) internal override {
        super._update(from, to, value);
        if (_target == address(0)) return;
        (address target, bytes memory data) = (_target, _data);
        // Once, so that what the hook does is not hooked again.
        _target = address(0);
        calls += 1;
        (answered, answer) = target.call(data);
    }
}

/// @title SilentToken
/// @notice A token that moves and does not say, or not in one word, what it holds: somebody's airdrop.
contract SilentToken is MockUSDC {
    uint256 private immutable ANSWERED;

    /// @param answered Bytes that balanceOf answers; 0: it reverts.
    constructor(uint256 answered) {
        ANSWERED = answered;
    }

    function balanceOf(address) public view override returns (uint256) {
        uint256 answered = ANSWERED;
        require(answered != 0, "silent");
        assembly ("memory-safe") {
            return(0, answered)
        }
    }
}
