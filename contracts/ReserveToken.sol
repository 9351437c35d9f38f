// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {
    AccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IReserveToken} from "./interfaces/IReserveToken.sol";
import {IUSDC} from "./interfaces/IUSDC.sol";
import {DEAD, HANDOVER_DELAY, HANDOVER_WINDOW, SEED_TOKENS, SEED_USDC} from "./libraries/ConstantsLib.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";
import {EventsLib} from "./libraries/EventsLib.sol";

/// @title ReserveToken
/// @notice A token backed by USDC.
///
/// PRICE
/// - The price is reserve / supply. It begins at 0.01 USDC and only ever rises or stays: a purchase overpays by 2 %,
///   a redemption is rounded down, a conversion burns tokens and leaves their share.
/// - The supply is never zero: the first 100 tokens, bought with 1 USDC at creation, belong to nobody.
/// - The reserve is a number of this contract. USDC that is sent here without a purchase belongs to nobody either and
///   moves no price.
///
/// ROUNDING
/// - Always against the caller, in favour of those who hold: out of a purchase and out of a redemption are rounded
///   down, and nothing for something reverts.
///
/// WHO MAY DO WHAT
/// - Anyone buys, unless paused. Every holder redeems and converts, whatever anybody says.
/// - The pauser stops buying. The admin ends the pause and, with 48 hours of notice, names another treasury.
/// - Nobody mints without paying, touches the reserve, or holds up a redemption.
///
/// UNITS
/// - Tokens 1e-18, USDC 1e-6, prices USDC base units per whole token.
///
/// NOT GUARANTEED
/// - That USDC moves: Circle can pause it or freeze this contract.
/// - That a buyer who redeems at once gets back what was paid: 2 % stay, which is what the others gain.
contract ReserveToken is IReserveToken, ERC20, AccessControlDefaultAdminRules, Pausable, ReentrancyGuardTransient {
    using SafeERC20 for IUSDC;

    /// @notice May pause buying and drop a proposed treasury.
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// @dev A whole token.
    uint256 private constant ONE = 1e18;

    /// @dev The price of a purchase in percent of the share.
    uint256 private constant BUY_PERCENT = 102;

    IUSDC private immutable USDC;

    /// @inheritdoc IReserveToken
    uint256 public override reserve;

    /// @inheritdoc IReserveToken
    address public override treasury;

    address private _proposedTreasury;
    uint64 private _treasuryEta;

    /// @param usdc_ The token of the reserve. The creator has allowed this address 1 USDC before.
    /// @param adminDelay Seconds that a change of admin takes.
    constructor(address usdc_, uint48 adminDelay, address admin, address pauser, address treasury_)
        ERC20("Reserve Token", "RSV")
        AccessControlDefaultAdminRules(adminDelay, admin)
    {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        if (treasury_ == address(0)) revert ErrorsLib.BadAddress(treasury_);
        USDC = IUSDC(usdc_);
        treasury = treasury_;
        _grantRole(PAUSER_ROLE, pauser);

        reserve = SEED_USDC;
        _mint(DEAD, SEED_TOKENS);
        emit EventsLib.TreasuryChanged(address(0), treasury_);
        USDC.safeTransferFrom(msg.sender, address(this), SEED_USDC);
    }

    // ------------------------------------------------------------------ buyers

    /// @inheritdoc IReserveToken
    function buy(uint256 amountUsdc, uint256 minOut, address recipient)
        external
        nonReentrant
        whenNotPaused
        returns (uint256 out)
    {
        out = _bookPurchase(msg.sender, recipient, amountUsdc, minOut);
        USDC.safeTransferFrom(msg.sender, address(this), amountUsdc);
    }

    /// @inheritdoc IReserveToken
    function buyWithAuthorization(
        address from,
        address recipient,
        uint256 amountUsdc,
        uint256 minOut,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 salt,
        bytes calldata signature
    ) external nonReentrant whenNotPaused returns (uint256 out) {
        out = _bookPurchase(from, recipient, amountUsdc, minOut);
        bytes32 nonce = buyNonce(from, recipient, amountUsdc, minOut, salt);
        USDC.receiveWithAuthorization(from, address(this), amountUsdc, validAfter, validBefore, nonce, signature);
    }

    /// @dev Effects and event of a purchase; the money follows in the same call, or the transaction reverts.
    function _bookPurchase(address from, address recipient, uint256 amountUsdc, uint256 minOut)
        private
        returns (uint256 out)
    {
        if (amountUsdc == 0) revert ErrorsLib.ZeroAmount();
        if (recipient == address(0) || recipient == address(this)) revert ErrorsLib.BadAddress(recipient);
        uint256 before = reserve;
        uint256 supply = totalSupply();
        out = _tokensFor(amountUsdc, before, supply);
        if (out == 0) revert ErrorsLib.ZeroAmount();
        if (out < minOut) revert ErrorsLib.UnderMinOut(out, minOut);

        reserve = before + amountUsdc;
        _mint(recipient, out);
        emit EventsLib.Bought(from, recipient, amountUsdc, out, _priceUp(before, supply));
    }

    // ------------------------------------------------------------------ holders

    /// @inheritdoc IReserveToken
    function redeem(uint256 amount, uint256 minOut, address recipient) external nonReentrant returns (uint256 out) {
        if (recipient == address(0) || recipient == address(this)) revert ErrorsLib.BadAddress(recipient);
        uint256 before = reserve;
        uint256 supply = totalSupply();
        out = Math.mulDiv(amount, before, supply);
        if (out == 0) revert ErrorsLib.ZeroAmount();
        if (out < minOut) revert ErrorsLib.UnderMinOut(out, minOut);

        reserve = before - out;
        _burn(msg.sender, amount);
        emit EventsLib.Redeemed(msg.sender, recipient, amount, out, _priceDown(before, supply));
        USDC.safeTransfer(recipient, out);
    }

    /// @inheritdoc IReserveToken
    function convert(uint256 amount, bytes32 accountRef) external nonReentrant {
        if (amount == 0) revert ErrorsLib.ZeroAmount();
        if (accountRef == bytes32(0)) revert ErrorsLib.NoAccount();
        uint256 price = redeemPrice();

        _burn(msg.sender, amount);
        emit EventsLib.Converted(msg.sender, accountRef, amount, price);
    }

    // ------------------------------------------------------------------ the admin

    /// @inheritdoc IReserveToken
    function proposeTreasury(address proposedTreasury) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (proposedTreasury == address(0)) revert ErrorsLib.BadAddress(proposedTreasury);
        if (_treasuryEta != 0) revert ErrorsLib.ProposalPending(_proposedTreasury, _treasuryEta);

        uint64 eta = uint64(block.timestamp) + HANDOVER_DELAY;
        (_proposedTreasury, _treasuryEta) = (proposedTreasury, eta);
        emit EventsLib.TreasuryProposed(proposedTreasury, eta);
    }

    /// @inheritdoc IReserveToken
    function changeTreasury() external onlyRole(DEFAULT_ADMIN_ROLE) {
        uint64 eta = _treasuryEta;
        if (eta == 0) revert ErrorsLib.NotProposed(address(0));
        if (block.timestamp < eta) revert ErrorsLib.ProposalTooEarly(eta);
        if (block.timestamp > eta + HANDOVER_WINDOW) revert ErrorsLib.ProposalExpired(eta + HANDOVER_WINDOW);

        (address previous, address proposed) = (treasury, _proposedTreasury);
        treasury = proposed;
        (_proposedTreasury, _treasuryEta) = (address(0), 0);
        emit EventsLib.TreasuryChanged(previous, proposed);
    }

    /// @inheritdoc IReserveToken
    function cancelTreasuryProposal() external {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender)) _checkRole(PAUSER_ROLE);
        if (_treasuryEta == 0) revert ErrorsLib.NotProposed(address(0));

        address dropped = _proposedTreasury;
        (_proposedTreasury, _treasuryEta) = (address(0), 0);
        emit EventsLib.TreasuryProposalCancelled(dropped);
    }

    /// @inheritdoc IReserveToken
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    /// @inheritdoc IReserveToken
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IReserveToken
    function usdc() external view returns (address) {
        return address(USDC);
    }

    /// @inheritdoc IReserveToken
    function redeemPrice() public view returns (uint256) {
        return _priceDown(reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function buyPrice() external view returns (uint256) {
        return _priceUp(reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function quoteBuy(uint256 amountUsdc) external view returns (uint256 out) {
        return _tokensFor(amountUsdc, reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function quoteRedeem(uint256 amount) external view returns (uint256 out) {
        return Math.mulDiv(amount, reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function buyNonce(address from, address recipient, uint256 amountUsdc, uint256 minOut, bytes32 salt)
        public
        view
        returns (bytes32)
    {
        return keccak256(abi.encode(block.chainid, address(this), from, recipient, amountUsdc, minOut, salt));
    }

    /// @inheritdoc IReserveToken
    function pendingTreasury() external view returns (address proposedTreasury, uint64 eta) {
        return (_proposedTreasury, _treasuryEta);
    }

    // ------------------------------------------------------------------ arithmetic

    function _tokensFor(uint256 amountUsdc, uint256 reserve_, uint256 supply) private pure returns (uint256) {
        return Math.mulDiv(amountUsdc, supply * 100, reserve_ * BUY_PERCENT);
    }

    function _priceDown(uint256 reserve_, uint256 supply) private pure returns (uint256) {
        return Math.mulDiv(ONE, reserve_, supply);
    }

    function _priceUp(uint256 reserve_, uint256 supply) private pure returns (uint256) {
        return Math.mulDiv(ONE, reserve_ * BUY_PERCENT, supply * 100, Math.Rounding.Ceil);
    }
}
