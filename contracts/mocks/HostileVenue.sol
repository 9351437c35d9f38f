// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";

/// @title HostileVenue
/// @notice A venue that an owner was talked into listing. Each function is one way to take what is not its own.
contract HostileVenue {
    using Address for address;
    using SafeERC20 for IERC20;

    IERC20 private immutable USDC;

    /// @notice Thrown by `fail`.
    error VenueFailed(uint256 code);

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    /// @notice Pulls `amount` from the caller. Honest when `amount` is what the caller wants to spend.
    function take(uint256 amount) external returns (uint256) {
        USDC.safeTransferFrom(msg.sender, address(this), amount);
        return amount;
    }

    /// @notice Pays `amount` to the caller: an honest exit.
    function give(uint256 amount) external returns (uint256) {
        USDC.safeTransfer(msg.sender, amount);
        return amount;
    }

    /// @notice Pays `amount` to whom the caller names: an exit that shows in no balance when that is a thief.
    function giveTo(uint256 amount, address to) external {
        USDC.safeTransfer(to, amount);
    }

    /// @notice Pulls `amount`, then pays `back`: the balance shows the difference only.
    function takeAndGive(uint256 amount, uint256 back) external {
        USDC.safeTransferFrom(msg.sender, address(this), amount);
        USDC.safeTransfer(msg.sender, back);
    }

    /// @notice Takes what a victim's forgotten allowance leaves, in a transaction of the thief's own.
    function pullLater(address victim, uint256 amount) external {
        USDC.safeTransferFrom(victim, msg.sender, amount);
    }

    /// @notice Calls the caller back with `data`.
    function reenter(bytes calldata data) external returns (bytes memory) {
        return msg.sender.functionCall(data);
    }

    /// @notice Calls the caller back to read, as another contract would in the middle of a call.
    function reenterView(bytes calldata data) external view returns (bytes memory) {
        return msg.sender.functionStaticCall(data);
    }

    /// @notice Reverts with data.
    function fail(uint256 code) external pure {
        revert VenueFailed(code);
    }
}
