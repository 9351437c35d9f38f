// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {
    AccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

import {Erc6492Validator} from "./Erc6492Validator.sol";
import {MandateVault} from "./MandateVault.sol";
import {VaultShell} from "./VaultShell.sol";
import {IMandateVault, Status} from "./interfaces/IMandateVault.sol";
import {IMandateVaultFactory} from "./interfaces/IMandateVaultFactory.sol";
import {IUSDC} from "./interfaces/IUSDC.sol";
import {BPS, ERC6492_MAGIC} from "./libraries/ConstantsLib.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";
import {EventsLib} from "./libraries/EventsLib.sol";
import {Handover, HandoverLib} from "./libraries/HandoverLib.sol";
import {RuleLib} from "./libraries/RuleLib.sol";
import {Funding, MandateTerms, Rule, TermsLib} from "./libraries/TermsLib.sol";
import {TransientBytesLib} from "./libraries/TransientBytesLib.sol";
import {VaultCodeLib} from "./libraries/VaultCodeLib.sol";

/// @notice Who holds which office at the start.
struct Offices {
    /// DEFAULT_ADMIN_ROLE: lists adapters, unpauses, grants and revokes roles. Changes hands with a delay.
    address admin;
    /// PAUSER_ROLE: pauses, removes agents, drops proposals.
    address pauser;
    /// KEEPER_ADMIN_ROLE: proposes keepers and guards.
    address keeperAdmin;
    /// Marks, stops, settles.
    address keeper;
    /// Signs x402 payments.
    address guard;
}

/// @title MandateVaultFactory
/// @notice Turns signed terms into vaults.
///
/// ONE DOCUMENT, ONE VAULT
/// - The address of a vault follows from this factory and the digest of the terms alone. Whoever submits the terms,
///   the same vault comes out; submitting them again returns it.
/// - The digest covers every term and, by allowedTargetsHash, every rule. A vault proves by its own digest that it
///   came from here, so the factory stores nothing for a vault that is created, but their number: whoever reads the logs
///   of creations knows by it whether one is missing.
///
/// CONSENT
/// - The owner sends the transaction, or has signed the digest, or has signed an EIP-3009 authorization to the
///   vault with the digest as nonce. The last one is consent and money in one signature.
/// - Signatures: ECDSA for accounts with a key, delegated (EIP-7702) or not, ERC-1271 for contract wallets, and
///   ERC-6492 for those not created yet. What the last one calls is called by the validator, never from here.
///
/// MONEY
/// - The factory never holds money and never needs an allowance.
///
/// ROLES
/// - The admin lists adapters, ends a pause, grants and revokes roles. Over existing vaults that means: it can make
///   itself pauser and keeper admin, and an adapter that it lists may bring them proceeds. No office takes money out.
/// - The pauser stops createVault and execute, of existing vaults too, and removes the agent of any vault. It cannot end
///   the pause, and no way home for money is gated by it.
/// - The keeper admin proposes a keeper or a guard; the change takes 48 hours at least, holds for existing vaults, and
///   admin or pauser can drop it until then.
///
/// NOT GUARANTEED
/// - That an adapter on the list tells the truth about worth: the list is the admin's word.
/// - That `horizonDays`, `approvalAbove`, `onFloor` and `guardTargetsHash` are kept: they are signed and logged,
///   and enforced off chain or not at all.
contract MandateVaultFactory is IMandateVaultFactory, AccessControlDefaultAdminRules, EIP712, Pausable {
    using HandoverLib for Handover;
    using TransientBytesLib for bytes32;

    /// @notice May pause, remove agents and drop proposals.
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    /// @notice May propose a keeper or a guard.
    bytes32 public constant KEEPER_ADMIN_ROLE = keccak256("KEEPER_ADMIN_ROLE");

    /// @dev Transient place of the code of the vault under creation.
    bytes32 private constant VAULT_CODE = keccak256("MandateVaultFactory.vaultCode");

    /// @dev Every vault is created by the same code, so that its address depends on the digest alone.
    bytes32 private constant SHELL_HASH = keccak256(type(VaultShell).creationCode);

    /// @inheritdoc IMandateVaultFactory
    address public immutable override implementation;

    /// @inheritdoc IMandateVaultFactory
    address public immutable override usdc;

    /// @inheritdoc IMandateVaultFactory
    address public immutable override validator;

    /// @inheritdoc IMandateVaultFactory
    mapping(address adapter => bool) public override isAdapter;

    /// @inheritdoc IMandateVaultFactory
    mapping(bytes32 digest => bool) public override isCancelled;

    Handover private _keeper;
    Handover private _guard;

    /// @inheritdoc IMandateVaultFactory
    uint256 public override vaultCount;

    /// @param usdc_ The token that all vaults hold.
    /// @param adminDelay Seconds that a change of admin takes.
    /// @param offices Who holds which office at the start.
    constructor(address usdc_, uint48 adminDelay, Offices memory offices)
        AccessControlDefaultAdminRules(adminDelay, offices.admin)
        EIP712("Mandate Wallet", "2")
    {
        if (usdc_.code.length == 0) revert ErrorsLib.BadAddress(usdc_);
        // The zero address sends no transaction, but in a simulation anybody can be it.
        if (offices.pauser == address(0)) revert ErrorsLib.BadAddress(offices.pauser);
        if (offices.keeperAdmin == address(0)) revert ErrorsLib.BadAddress(offices.keeperAdmin);
        if (offices.keeper == address(0)) revert ErrorsLib.BadAddress(offices.keeper);
        if (offices.guard == address(0)) revert ErrorsLib.BadAddress(offices.guard);
        usdc = usdc_;
        implementation = address(new MandateVault(usdc_));
        validator = address(new Erc6492Validator());
        _grantRole(PAUSER_ROLE, offices.pauser);
        _grantRole(KEEPER_ADMIN_ROLE, offices.keeperAdmin);
        _keeper.holder = offices.keeper;
        _guard.holder = offices.guard;
        emit EventsLib.KeeperChanged(address(0), offices.keeper);
        emit EventsLib.GuardChanged(address(0), offices.guard);
    }

    // ------------------------------------------------------------------ anyone with the owner's consent

    /// @inheritdoc IMandateVaultFactory
    function createVault(
        MandateTerms calldata terms,
        Rule[] calldata rules,
        bytes calldata signature,
        Funding calldata funding
    ) external whenNotPaused returns (address vault) {
        bytes32 digest = termsDigest(terms);
        vault = predictVault(digest);
        if (vault.code.length == 0) {
            _requireSound(terms, rules, vault);
            _requireConsent(digest, terms.owner, signature, funding);
        }
        // Only now: consent may have created the owner's wallet, and whatever else that did counts.
        if (vault.code.length != 0) {
            _fundExisting(vault, digest, terms.owner, funding);
            return vault;
        }

        if (isCancelled[digest]) revert ErrorsLib.TermsWereCancelled(digest);
        if (funding.signature.length == 0 && funding.amount != 0) _requireOwnerSends(terms.owner);

        ++vaultCount;
        VAULT_CODE.store(VaultCodeLib.encode(implementation, digest, terms, rules));
        new VaultShell{salt: digest}();
        VAULT_CODE.clear();

        emit EventsLib.VaultCreated(vault, digest, terms.owner, terms.agent, terms.publicId, terms, rules);
        IMandateVault(vault).initialize(funding);
    }

    /// @dev An authorization can be used once, so it funds whenever it is unused. A pull has no such mark: it
    /// happens only while nothing was deposited, so that a repeated transaction of the owner does not pay twice.
    function _fundExisting(address vault, bytes32 digest, address owner, Funding calldata funding) private {
        if (funding.amount == 0) return;
        if (funding.signature.length != 0) {
            if (IUSDC(usdc).authorizationState(owner, digest)) return;
        } else {
            _requireOwnerSends(owner);
            if (IMandateVault(vault).totals().deposited != 0) return;
        }
        if (IMandateVault(vault).status() == Status.Funding) IMandateVault(vault).fund(funding);
    }

    function _requireOwnerSends(address owner) private view {
        if (msg.sender != owner) revert ErrorsLib.NotOwner(msg.sender);
    }

    /// @dev An EIP-3009 authorization is verified by USDC when the vault takes the money; if it does not hold, the
    /// whole creation reverts.
    function _requireConsent(bytes32 digest, address owner, bytes calldata signature, Funding calldata funding)
        private
    {
        if (msg.sender == owner) return;
        if (signature.length == 0 && funding.amount != 0 && funding.signature.length != 0) return;
        if (!_isSignedBy(owner, digest, signature)) revert ErrorsLib.BadSignature(owner);
    }

    /// @dev The key first: an EIP-7702 account has code and still signs with its key.
    function _isSignedBy(address owner, bytes32 digest, bytes calldata signature) private returns (bool) {
        (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (failure == ECDSA.RecoverError.NoError && recovered == owner) return true;
        if (_carriesCreation(signature)) return _isSignedByWallet(owner, digest, signature);
        return owner.code.length != 0 && SignatureChecker.isValidERC1271SignatureNowCalldata(owner, digest, signature);
    }

    function _carriesCreation(bytes calldata signature) private pure returns (bool) {
        return signature.length > 32 && bytes32(signature[signature.length - 32:]) == ERC6492_MAGIC;
    }

    /// @dev An ill-formed signature makes the validator revert, which is a no as well.
    function _isSignedByWallet(address owner, bytes32 digest, bytes calldata signature) private returns (bool) {
        try Erc6492Validator(validator).isValidSignature(owner, digest, signature) returns (bool isValid) {
            return isValid;
        } catch {
            return false;
        }
    }

    function _requireSound(MandateTerms calldata terms, Rule[] calldata rules, address vault) private view {
        _requireSoundAmounts(terms);
        if (terms.owner == address(0)) revert ErrorsLib.BadAddress(terms.owner);
        if (terms.endsAt <= block.timestamp) revert ErrorsLib.MandateEnded(terms.endsAt);
        // The window counts seconds in 32 bits, up to the year 2106.
        if (terms.endsAt > type(uint32).max) revert ErrorsLib.BadTerms("endsAt", terms.endsAt, type(uint32).max);
        if (terms.agentFeeBps > BPS) revert ErrorsLib.BadTerms("agentFeeBps", terms.agentFeeBps, BPS);
        if (terms.onFloor > 1) revert ErrorsLib.BadTerms("onFloor", terms.onFloor, 1);

        bytes32 rulesHash = RuleLib.hashRules(rules);
        if (rulesHash != terms.allowedTargetsHash) {
            revert ErrorsLib.RulesHashMismatch(rulesHash, terms.allowedTargetsHash);
        }
        // The validator calls whatever a signature names: as a target it could take the allowance anywhere.
        RuleLib.requireSound(rules, [usdc, vault, implementation, validator]);
        for (uint256 i; i < rules.length; ++i) {
            if (RuleLib.needsListing(rules[i].kind)) {
                if (!isAdapter[rules[i].target]) revert ErrorsLib.AdapterNotListed(rules[i].target);
            }
        }
    }

    function _requireSoundAmounts(MandateTerms calldata terms) private pure {
        uint256 budget = terms.budgetUsdc;
        if (budget <= 0 || budget > VaultCodeLib.MAX_AMOUNT) {
            revert ErrorsLib.BadTerms("budgetUsdc", budget, VaultCodeLib.MAX_AMOUNT);
        }
        if (terms.perTxCap <= 0 || terms.perTxCap > budget) {
            revert ErrorsLib.BadTerms("perTxCap", terms.perTxCap, budget);
        }
        if (terms.dailyCap <= 0 || terms.dailyCap > budget) {
            revert ErrorsLib.BadTerms("dailyCap", terms.dailyCap, budget);
        }
        if (terms.stopFloorBps <= 0 || terms.stopFloorBps > BPS) {
            revert ErrorsLib.BadTerms("stopFloorBps", terms.stopFloorBps, BPS);
        }
        uint256 floor = TermsLib.stopFloorOf(budget, terms.stopFloorBps);
        // A floor of the whole budget would stop the mandate before its first action.
        if (terms.stopFloor != floor || floor >= budget) {
            revert ErrorsLib.BadTerms("stopFloor", terms.stopFloor, floor);
        }
    }

    // ------------------------------------------------------------------ the owner of the terms

    /// @inheritdoc IMandateVaultFactory
    function cancelTerms(MandateTerms calldata terms) external {
        _requireOwnerSends(terms.owner);
        bytes32 digest = termsDigest(terms);
        if (isCancelled[digest]) revert ErrorsLib.TermsWereCancelled(digest);
        address vault = predictVault(digest);
        if (vault.code.length != 0) revert ErrorsLib.VaultExists(vault);
        isCancelled[digest] = true;
        emit EventsLib.TermsCancelled(digest, terms.owner);
    }

    // ------------------------------------------------------------------ keeper and guard

    /// @inheritdoc IMandateVaultFactory
    function proposeKeeper(address proposedKeeper) external onlyRole(KEEPER_ADMIN_ROLE) {
        uint64 eta = _keeper.propose(proposedKeeper);
        emit EventsLib.KeeperProposed(proposedKeeper, eta);
    }

    /// @inheritdoc IMandateVaultFactory
    function acceptKeeper() external {
        address previous = _keeper.accept();
        emit EventsLib.KeeperChanged(previous, msg.sender);
    }

    /// @inheritdoc IMandateVaultFactory
    function cancelKeeperProposal() external {
        _requireAdminOrPauser();
        emit EventsLib.KeeperProposalCancelled(_keeper.cancel());
    }

    /// @inheritdoc IMandateVaultFactory
    function proposeGuard(address proposedGuard) external onlyRole(KEEPER_ADMIN_ROLE) {
        uint64 eta = _guard.propose(proposedGuard);
        emit EventsLib.GuardProposed(proposedGuard, eta);
    }

    /// @inheritdoc IMandateVaultFactory
    function acceptGuard() external {
        address previous = _guard.accept();
        emit EventsLib.GuardChanged(previous, msg.sender);
    }

    /// @inheritdoc IMandateVaultFactory
    function cancelGuardProposal() external {
        _requireAdminOrPauser();
        emit EventsLib.GuardProposalCancelled(_guard.cancel());
    }

    function _requireAdminOrPauser() private view {
        if (!hasRole(DEFAULT_ADMIN_ROLE, msg.sender) && !isPauser(msg.sender)) {
            revert ErrorsLib.NotAdminOrPauser(msg.sender);
        }
    }

    // ------------------------------------------------------------------ pause

    /// @inheritdoc IMandateVaultFactory
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    /// @inheritdoc IMandateVaultFactory
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    // ------------------------------------------------------------------ adapters

    /// @inheritdoc IMandateVaultFactory
    function listAdapter(address adapter) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (adapter.code.length == 0) revert ErrorsLib.BadAddress(adapter);
        if (isAdapter[adapter]) revert ErrorsLib.AdapterAlreadyListed(adapter);
        isAdapter[adapter] = true;
        emit EventsLib.AdapterListed(adapter);
    }

    /// @inheritdoc IMandateVaultFactory
    function delistAdapter(address adapter) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (!isAdapter[adapter]) revert ErrorsLib.AdapterNotListed(adapter);
        isAdapter[adapter] = false;
        emit EventsLib.AdapterDelisted(adapter);
    }

    // ------------------------------------------------------------------ views

    /// @inheritdoc IMandateVaultFactory
    function termsDigest(MandateTerms calldata terms) public view returns (bytes32) {
        return _hashTypedDataV4(TermsLib.hashStruct(terms));
    }

    /// @inheritdoc IMandateVaultFactory
    function predictVault(bytes32 digest) public view returns (address) {
        return Create2.computeAddress(digest, SHELL_HASH);
    }

    /// @inheritdoc IMandateVaultFactory
    /// @dev Only this factory's creation code can stand at an address that its digest predicts, so the account's
    /// own word for its digest is proof enough.
    function isVault(address vault) external view returns (bool) {
        if (vault.code.length == 0) return false;
        (bool answered, bytes memory answer) = vault.staticcall(abi.encodeCall(IMandateVault.termsDigest, ()));
        return answered && answer.length == 32 && predictVault(abi.decode(answer, (bytes32))) == vault;
    }

    /// @inheritdoc IMandateVaultFactory
    function keeper() external view returns (address) {
        return _keeper.holder;
    }

    /// @inheritdoc IMandateVaultFactory
    function guard() external view returns (address) {
        return _guard.holder;
    }

    /// @inheritdoc IMandateVaultFactory
    function pendingKeeper() external view returns (address proposedKeeper, uint64 eta) {
        return (_keeper.proposed, _keeper.eta);
    }

    /// @inheritdoc IMandateVaultFactory
    function pendingGuard() external view returns (address proposedGuard, uint64 eta) {
        return (_guard.proposed, _guard.eta);
    }

    /// @inheritdoc IMandateVaultFactory
    function isPauser(address account) public view returns (bool) {
        return hasRole(PAUSER_ROLE, account);
    }

    /// @inheritdoc IMandateVaultFactory
    function paused() public view override(IMandateVaultFactory, Pausable) returns (bool) {
        return super.paused();
    }

    /// @inheritdoc IMandateVaultFactory
    function vaultCode() external view returns (bytes memory) {
        return VAULT_CODE.load();
    }
}
