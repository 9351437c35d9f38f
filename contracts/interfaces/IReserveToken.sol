// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title IReserveToken
/// @notice A token backed by USDC: bought at its share of the reserve plus 2 %, redeemed at its share of what is unlocked,
/// at any time. What buyers pay on top unlocks to all holders within 24 hours.
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

    /// @notice Burns `amount` of the caller's tokens and pays the caller their share of what is unlocked.
    /// @dev Without fee and never paused. Errors: `ZeroAmount` when the share is less than a base unit, `UnderMinOut`,
    /// and `ERC20InsufficientBalance` when the caller holds less than `amount`.
    /// @param minOut The least USDC base units that the caller accepts, inclusive.
    /// @return out amount x (reserve - locked) / supply, rounded down, in USDC base units.
    function redeem(uint256 amount, uint256 minOut) external returns (uint256 out);

    /// @notice Burns `amount` of the caller's tokens for credit of the account behind `accountRef`. One way: their share
    /// of what is unlocked is owed to the treasury from now on.
    /// @dev Without fee and never paused. It moves no USDC, so that a frozen treasury cannot hold it up. Errors:
    /// `NoAccount` when `accountRef` is zero, `ZeroAmount` when the share is less than a base unit, and
    /// `ERC20InsufficientBalance` when the caller holds less than `amount`.
    /// @return usdcPaid amount x (reserve - locked) / supply, rounded down, in USDC base units: what the credit is paid for with.
    function convert(uint256 amount, bytes32 accountRef) external returns (uint256 usdcPaid);

    // ------------------------------------------------------------------ anyone

    /// @notice Pays the treasury everything that conversions owe it. It reverts while USDC has frozen the treasury; what
    /// is owed stays owed, and nothing else waits for it.
    /// @dev Errors: `NothingOwed`.
    /// @return amount USDC base units that were paid.
    function payTreasury() external returns (uint256 amount);

    // ------------------------------------------------------------------ the admin

    /// @notice Begins the change of the treasury. It can be completed from `eta`, 48 hours from now.
    /// @dev Errors: `BadAddress` for the zero address, this token, USDC and the dead address that holds the first tokens;
    /// `ProposalPending`.
    function proposeTreasury(address proposedTreasury) external;

    /// @notice Completes the change of the treasury, within [eta, eta + 7 days], both inclusive. What is owed by then
    /// goes to the new one, unless somebody calls `payTreasury` before.
    /// @dev Errors: `NotProposed`, `ProposalTooEarly`, `ProposalExpired`.
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

    /// @notice USDC base units that back the supply, what is locked included. Never read from a balance: donations count
    /// for nothing.
    function reserve() external view returns (uint256);

    /// @notice The part of the reserve that is not unlocked yet: no redemption or conversion takes of it.
    /// @return amountUsdc Base units at this second, rounded up. It falls evenly until `until`.
    /// @return until Unix nanoseconds from which nothing is locked, exclusive, at most 24 hours ahead; in the past when
    /// nothing is.
    function locked() external view returns (uint256 amountUsdc, uint256 until);

    /// @notice USDC base units that conversions owe the treasury. No part of the reserve, and always in the balance.
    function treasuryOwed() external view returns (uint256);

    /// @notice What a whole token redeems for, rounded down. Never falls, never below 10,000 (0.01 USDC).
    function redeemPrice() external view returns (uint256);

    /// @notice What a whole token costs: 102 % of its share of the reserve, rounded up. Never falls; time does not move it.
    function buyPrice() external view returns (uint256);

    /// @notice Tokens that `amountUsdc` would buy now, rounded down. Time does not move it.
    function quoteBuy(uint256 amountUsdc) external view returns (uint256 out);

    /// @notice USDC base units that `amount` of tokens would redeem or convert for now, rounded down.
    function quoteRedeem(uint256 amount) external view returns (uint256 out);

    /// @notice The EIP-3009 nonce of a purchase by authorization. Chain and token are inside.
    function buyNonce(address from, address recipient, uint256 amountUsdc, uint256 minOut, bytes32 salt)
        external
        view
        returns (bytes32);

    /// @notice Where the shares of converted tokens go, and fees for sponsored gas. Never the zero address, this token,
    /// USDC or the dead address.
    function treasury() external view returns (address);

    /// @notice The pending treasury and the unix second from which it can be set; zeros when there is none.
    function pendingTreasury() external view returns (address proposedTreasury, uint64 eta);
}
