// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title IReserveToken
/// @notice A token backed by USDC: bought at its share of the reserve plus 2 %, redeemed at its share, at any time.
/// @dev Tokens have 18 decimals. Prices are USDC base units (1e-6) per whole token (1e18). The contract opens with the
/// specification. Events stand in EventsLib, errors in ErrorsLib.
interface IReserveToken {
    // ------------------------------------------------------------------ buyers

    /// @notice Takes `amountUsdc` from the caller's allowance and mints to `recipient`.
    /// @param minOut The least tokens that the caller accepts.
    /// @return out amountUsdc x supply x 100 / (reserve x 102), rounded down.
    function buy(uint256 amountUsdc, uint256 minOut, address recipient) external returns (uint256 out);

    /// @notice The same by the buyer's EIP-3009 authorization, whose nonce is
    /// `buyNonce(from, recipient, amountUsdc, minOut, salt)`. Anyone may submit it, and can change nothing of it.
    function buyWithAuthorization(
        address from,
        address recipient,
        uint256 amountUsdc,
        uint256 minOut,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 salt,
        bytes calldata signature
    ) external returns (uint256 out);

    // ------------------------------------------------------------------ holders

    /// @notice Burns `amount` of the caller's tokens and sends their share of the reserve to `recipient`.
    /// @dev Without fee and never paused.
    /// @param minOut The least USDC base units that the caller accepts.
    /// @return out amount x reserve / supply, rounded down.
    function redeem(uint256 amount, uint256 minOut, address recipient) external returns (uint256 out);

    /// @notice Burns `amount` of the caller's tokens for credit of the account behind `accountRef`. One way: their
    /// share stays in the reserve and belongs to those who hold on.
    function convert(uint256 amount, bytes32 accountRef) external;

    // ------------------------------------------------------------------ the admin

    /// @notice Begins the change of the treasury. It can be completed from `eta`, 48 hours from now.
    function proposeTreasury(address proposedTreasury) external;

    /// @notice Completes the change of the treasury, within [eta, eta + 7 days], both inclusive.
    function changeTreasury() external;

    /// @notice Drops the pending treasury. The admin or PAUSER_ROLE.
    function cancelTreasuryProposal() external;

    /// @notice Stops buying and nothing else. PAUSER_ROLE.
    function pause() external;

    /// @notice Ends the pause.
    function unpause() external;

    // ------------------------------------------------------------------ views

    /// @notice The token of the reserve.
    function usdc() external view returns (address);

    /// @notice USDC base units that back the supply. Never read from a balance: donations count for nothing.
    function reserve() external view returns (uint256);

    /// @notice What a whole token redeems for, rounded down. Never falls, never below 10,000 (0.01 USDC).
    function redeemPrice() external view returns (uint256);

    /// @notice What a whole token costs: 102 % of its share, rounded up.
    function buyPrice() external view returns (uint256);

    /// @notice Tokens that `amountUsdc` would buy now, rounded down.
    function quoteBuy(uint256 amountUsdc) external view returns (uint256 out);

    /// @notice USDC base units that `amount` of tokens would redeem for now, rounded down.
    function quoteRedeem(uint256 amount) external view returns (uint256 out);

    /// @notice The EIP-3009 nonce of a purchase by authorization. Chain and token are inside.
    function buyNonce(address from, address recipient, uint256 amountUsdc, uint256 minOut, bytes32 salt)
        external
        view
        returns (bytes32);

    /// @notice Where fees for sponsored gas go.
    function treasury() external view returns (address);

    /// @notice The pending treasury and the unix second from which it can be set; zeros when there is none.
    function pendingTreasury() external view returns (address proposedTreasury, uint64 eta);
}
