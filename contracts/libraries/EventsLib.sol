// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MandateTerms, Rule} from "./TermsLib.sol";

/// @title EventsLib
/// @notice The events of the factory, the adapters and the reserve token, in the past tense. A vault's are in
/// IMandateVaultEvents.
/// @dev Amounts are USDC base units unless a token is named.
library EventsLib {
    // ------------------------------------------------------------------ factory

    /// @notice A vault was created. Carries the whole document, so that a reader needs no other source.
    event VaultCreated(
        address indexed vault,
        bytes32 indexed termsDigest,
        address indexed owner,
        address agent,
        string publicId,
        MandateTerms terms,
        Rule[] rules
    );

    /// @notice The owner withdrew signed terms. They can never become a vault.
    event TermsCancelled(bytes32 indexed termsDigest, address indexed owner);

    /// @notice A change of keeper began. `eta`: first second in which it can be accepted.
    event KeeperProposed(address indexed proposedKeeper, uint64 eta);

    /// @notice The keeper changed.
    event KeeperChanged(address indexed previousKeeper, address indexed newKeeper);

    /// @notice The pending keeper was dropped.
    event KeeperProposalCancelled(address indexed proposedKeeper);

    /// @notice A change of guard began. `eta`: first second in which it can be accepted.
    event GuardProposed(address indexed proposedGuard, uint64 eta);

    /// @notice The guard changed.
    event GuardChanged(address indexed previousGuard, address indexed newGuard);

    /// @notice The pending guard was dropped.
    event GuardProposalCancelled(address indexed proposedGuard);

    /// @notice Mandates may name this adapter from now on.
    event AdapterListed(address indexed adapter);

    /// @notice New mandates may not name this adapter any more.
    event AdapterDelisted(address indexed adapter);

    // ------------------------------------------------------------------ adapters

    /// @notice A vault paid for a resource.
    event X402Paid(address indexed vault, address indexed payTo, uint256 amount, bytes32 resourceHash);

    /// @notice The test venue's price moved. Units: USDC base units for 1e6 units of the position.
    event PriceSet(uint256 priceE6);

    /// @notice The test venue's adapter was set, once.
    event VenueAdapterSet(address indexed adapter);

    /// @notice A position at the test venue grew.
    event PositionOpened(address indexed holder, uint256 amountUsdc, uint256 units, uint256 priceE6);

    /// @notice A position at the test venue shrank.
    event PositionClosed(address indexed holder, uint256 amountUsdc, uint256 units, uint256 priceE6);

    // ------------------------------------------------------------------ reserve token

    /// @notice USDC of `buyer` became tokens of `recipient`. `price` is what a whole token cost, before the purchase.
    event Bought(address indexed buyer, address indexed recipient, uint256 amountUsdc, uint256 out, uint256 price);

    /// @notice Tokens of `holder` became its USDC. `price` is what a whole token was worth, before it.
    event Redeemed(address indexed holder, uint256 amount, uint256 out, uint256 price);

    /// @notice Tokens were burned for credit of the account behind `accountRef`. `usdcPaid` left the reserve and is owed to
    /// the treasury.
    event ConvertedToCredit(address indexed holder, bytes32 indexed accountRef, uint256 amount, uint256 usdcPaid);

    /// @notice The treasury was paid everything that conversions owed it.
    event TreasuryPaid(address indexed treasury, uint256 amount);

    /// @notice Another treasury can be set from `eta` on.
    event TreasuryProposed(address indexed proposedTreasury, uint64 eta);

    /// @notice The treasury changed hands. At creation the previous one is zero.
    event TreasuryChanged(address indexed previousTreasury, address indexed newTreasury);

    /// @notice The proposed treasury was dropped.
    event TreasuryProposalCancelled(address indexed proposedTreasury);
}
