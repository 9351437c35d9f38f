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
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";

import {IReserveToken} from "./interfaces/IReserveToken.sol";
import {IUSDC} from "./interfaces/IUSDC.sol";
import {DEAD, HANDOVER_DELAY, HANDOVER_WINDOW, SEED_TOKENS, SEED_USDC} from "./libraries/ConstantsLib.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";
import {EventsLib} from "./libraries/EventsLib.sol";

/// @title ReserveToken
/// @notice A token backed by USDC.
///
/// PRICE
/// - The reserve is what backs the supply. A part of it is locked; the rest is unlocked. Tokens are bought at 102 % of
///   their share of the reserve, and redeemed and converted at their share of what is unlocked.
/// - Neither share ever falls. Both begin at 0.01 USDC. A purchase overpays by 2 %, what is locked only unlocks, and a
///   redemption or a conversion takes its share, rounded down, of what is unlocked.
/// - The supply is never zero: the first 100 tokens, bought with 1 USDC at creation, belong to nobody.
/// - The reserve is a number of this contract. USDC that is sent here without a purchase belongs to nobody and moves no
///   price.
///
/// UNLOCKING
/// - A purchase leaves the redeem price where it is: what it pays above its tokens' share of what is unlocked is locked,
///   and unlocks to all tokens at an even rate, second by second.
/// - That is the markup of 2 %, for 24 hours, and the tokens' share of what is locked already, which keeps its end. Both
///   become one lock, whose end is the mean of theirs weighted by their amounts. So a small purchase hardly moves the end
///   of a large lock, no end comes sooner, and none is more than 24 hours away.
/// - The rate at which a token gains is after a purchase at most what it was before and the markup / supply / 24 hours.
/// - Who redeems or converts before the end leaves a share of what is locked to the others.
///
/// CONVERSION
/// - A conversion burns tokens for credit at the service. Their share leaves the reserve and is owed to the treasury, so
///   the credit is paid for in full and the converter's other tokens gain nothing by it.
/// - It only books what is owed; no USDC moves. Anyone may trigger the payment; it pays everything owed. A treasury that
///   cannot receive USDC holds up that payment and nothing else.
/// - USDC balance >= reserve + what is owed to the treasury, always.
///
/// ROUNDING
/// - Always against the caller, in favour of those who hold: what a purchase mints, a redemption pays and a conversion
///   is worth is rounded down, and nothing for something reverts.
///
/// WHO MAY DO WHAT
/// - Anyone buys, unless paused. Every holder redeems and converts, paused or not. Anyone triggers the payment of what is
///   owed to the treasury.
/// - The pauser stops buying and drops a proposed treasury. The admin ends the pause and, with 48 hours of notice, names
///   another treasury, which then receives everything that is owed.
/// - Nobody mints without paying, takes USDC out of the reserve without burning its share, or holds up a redemption or a
///   conversion.
///
/// UNITS
/// - Tokens 1e-18, USDC 1e-6, prices USDC base units per whole token.
///
/// NOT GUARANTEED
/// - That USDC moves: Circle can pause it, freeze this contract, or freeze a holder, who then cannot redeem but can
///   convert and transfer.
/// - That credit is granted: that is the service's promise, by `ConvertedToCredit`.
/// - That a buyer who redeems at once gets back what was paid: 2 % stay, which is what the others gain, and the tokens'
///   share of what was locked then. That share comes back by waiting, 24 hours at most.
contract ReserveToken is IReserveToken, ERC20, AccessControlDefaultAdminRules, Pausable, ReentrancyGuardTransient {
    using SafeCast for uint256;
    using SafeERC20 for IUSDC;

    /// @notice May pause buying and drop a proposed treasury.
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// @dev A whole token.
    uint256 private constant ONE = 1e18;

    /// @dev The price of a purchase in percent of the share.
    uint256 private constant BUY_PERCENT = 102;

    /// @dev Nanoseconds, and as many as a markup takes to unlock.
    uint256 private constant NANOSECONDS = 1e9;
    uint256 private constant UNLOCK_TIME = 24 hours * NANOSECONDS;

    IUSDC private immutable USDC;

    /// @dev USDC base units, below 2^120. Both share one storage word with Pausable's flag: a purchase reads one word, a
    /// conversion writes one.
    uint120 private _reserve;
    uint120 private _treasuryOwed;

    /// @inheritdoc IReserveToken
    address public override treasury;

    address private _proposedTreasury;
    uint64 private _treasuryEta;

    /// @dev A part of the reserve: `amountUsdc` was locked at `since`, inclusive, and nothing is from `until` on. One
    /// storage word; only purchases write it.
    struct Lock {
        uint120 amountUsdc; // base units, at most the reserve
        uint40 since; // unix seconds
        uint96 until; // unix nanoseconds: rounded to seconds, a purchase in many parts would unlock sooner
    }

    Lock private _lock;

    /// @param usdc_ The token of the reserve. The creator has allowed this address 1 USDC before.
    /// @param adminDelay Seconds that a change of admin takes.
    /// @param admin Not zero, or `AccessControlInvalidDefaultAdmin`.
    /// @param pauser Not zero, or `BadAddress`.
    /// @param treasury_ As `proposeTreasury` requires.
    constructor(address usdc_, uint48 adminDelay, address admin, address pauser, address treasury_)
        ERC20("Reserve Token", "RSV")
        AccessControlDefaultAdminRules(adminDelay, admin)
    {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        if (pauser == address(0)) revert ErrorsLib.BadAddress(pauser);
        USDC = IUSDC(usdc_);
        _requireCanBeTreasury(treasury_);
        treasury = treasury_;
        _grantRole(PAUSER_ROLE, pauser);

        _reserve = SEED_USDC.toUint120();
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
        uint256 before = _reserve;
        uint256 supply = totalSupply();
        out = _tokensFor(amountUsdc, before, supply);
        if (out == 0) revert ErrorsLib.ZeroAmount();
        if (out < minOut) revert ErrorsLib.UnderMinOut(out, minOut);

        _reserve = (before + amountUsdc).toUint120();
        _lockBeyondShare(amountUsdc, out, before, supply);
        _mint(recipient, out);
        emit EventsLib.Bought(from, recipient, amountUsdc, out, _priceUp(before, supply));
    }

    /// @dev Locks what was paid above the share of the minted tokens in what is unlocked; reserve and supply are those
    /// before the purchase. Since the whole reserve backs the price of a purchase, that is never less than the markup.
    function _lockBeyondShare(uint256 amountUsdc, uint256 minted, uint256 reserve_, uint256 supply) private {
        Lock memory lock = _lock;
        uint256 before = _stillLocked(lock);
        uint256 share = Math.mulDiv(minted, reserve_ - before, supply, Math.Rounding.Ceil);
        uint256 amount = before + amountUsdc - share;
        // Nothing new: writing it anew would round up what is still locked.
        if (amount == before) return;

        uint256 markup = amountUsdc * (BUY_PERCENT - 100) / BUY_PERCENT;
        uint256 time = block.timestamp * NANOSECONDS;
        uint256 until = Math.max(lock.until, time);
        until += markup * (time + UNLOCK_TIME - until) / amount;
        _lock = Lock(amount.toUint120(), uint40(block.timestamp), uint96(until));
    }

    // ------------------------------------------------------------------ holders

    /// @inheritdoc IReserveToken
    function redeem(uint256 amount, uint256 minOut) external nonReentrant returns (uint256 out) {
        uint256 before = _reserve;
        uint256 unlocked = before - _stillLocked(_lock);
        uint256 supply = totalSupply();
        out = Math.mulDiv(amount, unlocked, supply);
        if (out == 0) revert ErrorsLib.ZeroAmount();
        if (out < minOut) revert ErrorsLib.UnderMinOut(out, minOut);

        _burn(msg.sender, amount);
        _reserve = (before - out).toUint120();
        emit EventsLib.Redeemed(msg.sender, amount, out, _priceDown(unlocked, supply));
        USDC.safeTransfer(msg.sender, out);
    }

    /// @inheritdoc IReserveToken
    function convert(uint256 amount, bytes32 accountRef) external nonReentrant returns (uint256 usdcPaid) {
        if (accountRef == bytes32(0)) revert ErrorsLib.NoAccount();
        uint256 before = _reserve;
        usdcPaid = Math.mulDiv(amount, before - _stillLocked(_lock), totalSupply());
        if (usdcPaid == 0) revert ErrorsLib.ZeroAmount();

        _burn(msg.sender, amount);
        _reserve = (before - usdcPaid).toUint120();
        _treasuryOwed += usdcPaid.toUint120();
        emit EventsLib.ConvertedToCredit(msg.sender, accountRef, amount, usdcPaid);
    }

    // ------------------------------------------------------------------ anyone

    /// @inheritdoc IReserveToken
    function payTreasury() external nonReentrant returns (uint256 amount) {
        amount = _treasuryOwed;
        if (amount == 0) revert ErrorsLib.NothingOwed();

        address to = treasury;
        _treasuryOwed = 0;
        emit EventsLib.TreasuryPaid(to, amount);
        USDC.safeTransfer(to, amount);
    }

    // ------------------------------------------------------------------ the admin

    /// @inheritdoc IReserveToken
    function proposeTreasury(address proposedTreasury) external onlyRole(DEFAULT_ADMIN_ROLE) {
        _requireCanBeTreasury(proposedTreasury);
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

    /// @dev What is paid to these could never be used again; paid to itself it would stay here and belong to nobody.
    function _requireCanBeTreasury(address account) private view {
        if (account == address(0) || account == address(this) || account == address(USDC) || account == DEAD) {
            revert ErrorsLib.BadAddress(account);
        }
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
    function reserve() external view returns (uint256) {
        return _reserve;
    }

    /// @inheritdoc IReserveToken
    function locked() external view returns (uint256 amountUsdc, uint256 until) {
        return (_stillLocked(_lock), _lock.until);
    }

    /// @inheritdoc IReserveToken
    function treasuryOwed() external view returns (uint256) {
        return _treasuryOwed;
    }

    /// @inheritdoc IReserveToken
    function redeemPrice() external view returns (uint256) {
        return _priceDown(_reserve - _stillLocked(_lock), totalSupply());
    }

    /// @inheritdoc IReserveToken
    function buyPrice() external view returns (uint256) {
        return _priceUp(_reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function quoteBuy(uint256 amountUsdc) external view returns (uint256 out) {
        return _tokensFor(amountUsdc, _reserve, totalSupply());
    }

    /// @inheritdoc IReserveToken
    function quoteRedeem(uint256 amount) external view returns (uint256 out) {
        return Math.mulDiv(amount, _reserve - _stillLocked(_lock), totalSupply());
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

    /// @dev The straight line from `amountUsdc` at `since` to nothing at `until`, rounded up to the base unit.
    function _stillLocked(Lock memory lock) private view returns (uint256) {
        uint256 time = block.timestamp * NANOSECONDS;
        if (time >= lock.until) return 0;
        return Math.ceilDiv(lock.amountUsdc * (lock.until - time), lock.until - lock.since * NANOSECONDS);
    }

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
