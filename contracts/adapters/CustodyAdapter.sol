// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {IMandateVault, Status} from "../interfaces/IMandateVault.sol";
import {IMandateVaultFactory} from "../interfaces/IMandateVaultFactory.sol";
import {BPS, NO_PIN} from "../libraries/ConstantsLib.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";

/// @title CustodyAdapter
/// @notice What adapters have in common that hold a venue's token for vaults.
///
/// CUSTODY
/// - The adapter books what it holds by vault. It has no admin, and counts no donation of token or USDC: a position
///   changes by its own vault's calls alone.
/// - The owner of a vault that no longer works takes the token itself by `release`, which does not ask the venue, and
///   withdraws it from the vault: a venue that pays nobody locks nothing.
///
/// LOSS BY THE AGENT
/// - While the mandate works, entering and leaving bring at least their value less `maxLossBps`, whatever the agent
///   accepts. Afterwards the owner's own minimum holds, so that a venue can be left at a loss.
abstract contract CustodyAdapter is IAdapter, ReentrancyGuardTransient {
    using Math for uint256;
    using SafeERC20 for IERC20;

    IERC20 internal immutable USDC;
    IMandateVaultFactory internal immutable FACTORY;

    /// @notice How much less than its value a working mandate accepts when it enters or leaves.
    uint256 public immutable maxLossBps;

    constructor(address factory_, uint256 maxLossBps_) {
        if (factory_.code.length == 0) revert ErrorsLib.BadAddress(factory_);
        if (maxLossBps_ >= BPS) revert ErrorsLib.BadTerms("maxLossBps", maxLossBps_, BPS - 1);
        (FACTORY, USDC) = (IMandateVaultFactory(factory_), IERC20(IMandateVaultFactory(factory_).usdc()));
        maxLossBps = maxLossBps_;
    }

    /// @notice Hands the calling vault all that is held for it, once it no longer works.
    /// @return units How much of the venue's token went there.
    function release() external nonReentrant returns (uint256 units) {
        if (_works(msg.sender)) revert ErrorsLib.MandateWorking();
        IERC20 held;
        (held, units) = _clear(msg.sender);
        if (units == 0) revert ErrorsLib.ZeroAmount();
        held.safeTransfer(msg.sender, units);
    }

    /// @inheritdoc IAdapter
    function isLinear() external pure returns (bool) {
        return false;
    }

    /// @dev Books that `vault` holds nothing more. Answers which token it held, and how much.
    function _clear(address vault) internal virtual returns (IERC20 held, uint256 units);

    function _rule(bytes4 selector, uint8 kind) internal view returns (Rule memory) {
        return Rule({target: address(this), selector: selector, recipientWord: NO_PIN, kind: kind});
    }

    function _works(address vault) internal view returns (bool) {
        return FACTORY.isVault(vault) && IMandateVault(vault).status() == Status.Working;
    }

    /// @dev `got` is no less than `value` less the loss that a working mandate accepts.
    function _requireWorth(uint256 got, uint256 value) internal view {
        uint256 least = value.mulDiv(BPS - maxLossBps, BPS);
        if (got < least) revert ErrorsLib.UnderMinOut(got, least);
    }
}
