// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {IAdapter} from "../interfaces/IAdapter.sol";
import {IMandateVaultFactory} from "../interfaces/IMandateVaultFactory.sol";
import {KIND_COST, NO_PIN} from "../libraries/ConstantsLib.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";
import {EventsLib} from "../libraries/EventsLib.sol";
import {Rule} from "../libraries/TermsLib.sol";

/// @title X402Adapter
/// @notice Pays for a resource out of a vault, when the guard has signed that the mandate allows it.
///
/// - A vault signs nothing, so it cannot pay by authorization. It calls this adapter inside execute instead, and
///   every cap of the mandate applies.
/// - The guard signs EIP-712 over chain, adapter, vault, payTo, amount, resourceHash, nonce and deadline. Who the
///   guard is, is read from the factory at each payment.
/// - A nonce serves once for each vault. A signature holds up to its deadline, inclusive.
/// - Exactly `amount` moves, from the vault to payTo, and never through this contract.
/// - What is paid is a cost: it is no position and has no worth.
contract X402Adapter is IAdapter, EIP712 {
    using SafeERC20 for IERC20;

    /// @notice What the guard signs, under the domain ("Mandate Wallet x402", "1", chain id, this adapter).
    bytes32 public constant PAYMENT_TYPEHASH = keccak256(
        "X402Payment(address vault,address payTo,uint256 amount,bytes32 resourceHash,bytes32 nonce,uint64 deadline)"
    );

    IERC20 private immutable USDC;

    /// @notice Names the guard.
    IMandateVaultFactory public immutable factory;

    /// @notice True once the vault has paid under this nonce.
    mapping(address vault => mapping(bytes32 nonce => bool)) public isNonceUsed;

    constructor(address factory_) EIP712("Mandate Wallet x402", "1") {
        if (factory_.code.length == 0) revert ErrorsLib.BadAddress(factory_);
        factory = IMandateVaultFactory(factory_);
        USDC = IERC20(IMandateVaultFactory(factory_).usdc());
    }

    // ------------------------------------------------------------------ vaults

    /// @notice Pays `amount` USDC base units from the calling vault to `payTo`.
    /// @param resourceHash Hash of the resource that is paid for.
    /// @param nonce Chosen by the guard; serves once for this vault.
    /// @param deadline Unix second, inclusive, up to which the signature holds.
    /// @param guardSignature The guard's over `paymentDigest` of all of this.
    function pay(
        address payTo,
        uint256 amount,
        bytes32 resourceHash,
        bytes32 nonce,
        uint64 deadline,
        bytes calldata guardSignature
    ) external {
        if (amount == 0) revert ErrorsLib.ZeroAmount();
        // Paid to itself, a vault would have an event that proves a payment and still have the money; paid to this
        // contract, nobody would ever have it.
        if (payTo == msg.sender || payTo == address(this)) revert ErrorsLib.SelfPayment(payTo);
        if (block.timestamp > deadline) revert ErrorsLib.DeadlinePassed(deadline);
        if (isNonceUsed[msg.sender][nonce]) revert ErrorsLib.NonceUsed(msg.sender, nonce);
        address guard = factory.guard();
        bytes32 digest = paymentDigest(msg.sender, payTo, amount, resourceHash, nonce, deadline);
        if (!SignatureChecker.isValidSignatureNowCalldata(guard, digest, guardSignature)) {
            revert ErrorsLib.BadSignature(guard);
        }

        isNonceUsed[msg.sender][nonce] = true;
        emit EventsLib.X402Paid(msg.sender, payTo, amount, resourceHash);
        USDC.safeTransferFrom(msg.sender, payTo, amount);
    }

    // ------------------------------------------------------------------ views

    /// @notice What the guard signs for one payment.
    function paymentDigest(
        address vault,
        address payTo,
        uint256 amount,
        bytes32 resourceHash,
        bytes32 nonce,
        uint64 deadline
    ) public view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(abi.encode(PAYMENT_TYPEHASH, vault, payTo, amount, resourceHash, nonce, deadline))
        );
    }

    /// @inheritdoc IAdapter
    function valueOf(address) external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev What is paid is gone: a cost is no position.
    function positionOf(address) external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev No position, no price.
    function unitPrice() external pure returns (uint256) {
        return 0;
    }

    /// @inheritdoc IAdapter
    /// @dev True for want of positions: 0 is what 0 units are worth.
    function isLinear() external pure returns (bool) {
        return true;
    }

    /// @inheritdoc IAdapter
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](1);
        list[0] = Rule({target: address(this), selector: this.pay.selector, recipientWord: NO_PIN, kind: KIND_COST});
    }
}
