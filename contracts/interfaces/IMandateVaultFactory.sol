// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Funding, MandateTerms, Rule} from "../libraries/TermsLib.sol";

/// @title IMandateVaultFactory
/// @notice Turns signed terms into vaults, names the keeper and the guard, lists adapters, and can pause.
/// @dev Roles and their administration come from OpenZeppelin's AccessControlDefaultAdminRules and are not
/// repeated here. Events stand in EventsLib, errors in ErrorsLib.
interface IMandateVaultFactory {
    // ------------------------------------------------------------------ anyone with the owner's consent

    /// @notice Creates the vault of the terms, or returns it when it exists already.
    /// @dev Consent is one of: the sender is the owner; `signature` is the owner's over `termsDigest(terms)`;
    /// `signature` is empty and `funding` is the owner's EIP-3009 authorization, whose nonce is the digest.
    /// Money moves only by that authorization, or, when the owner is the sender, from the owner's allowance to
    /// `predictVault(digest)`. The factory itself never needs an allowance. On an existing vault an unused
    /// authorization still funds, and the owner's pull happens only while nothing was deposited, so a repeated
    /// transaction never pays twice. Reverts while paused.
    function createVault(
        MandateTerms calldata terms,
        Rule[] calldata rules,
        bytes calldata signature,
        Funding calldata funding
    ) external returns (address vault);

    // ------------------------------------------------------------------ the owner of the terms

    /// @notice Marks signed terms as never to become a vault. Only their owner; final.
    function cancelTerms(MandateTerms calldata terms) external;

    // ------------------------------------------------------------------ KEEPER_ADMIN_ROLE

    /// @notice Begins the change of the keeper. It can be accepted from `eta`, 48 hours from now.
    function proposeKeeper(address proposedKeeper) external;

    /// @notice Begins the change of the guard. It can be accepted from `eta`, 48 hours from now.
    function proposeGuard(address proposedGuard) external;

    // ------------------------------------------------------------------ the proposed account

    /// @notice Completes the change of the keeper, within [eta, eta + 7 days], both inclusive.
    function acceptKeeper() external;

    /// @notice Completes the change of the guard, within [eta, eta + 7 days], both inclusive.
    function acceptGuard() external;

    // ------------------------------------------------------------------ admin or PAUSER_ROLE

    /// @notice Drops the pending keeper.
    function cancelKeeperProposal() external;

    /// @notice Drops the pending guard.
    function cancelGuardProposal() external;

    // ------------------------------------------------------------------ PAUSER_ROLE; unpause: the admin

    /// @notice Stops createVault and every vault's execute. Gates nothing else: no owner and no keeper path.
    function pause() external;

    /// @notice Ends the pause.
    function unpause() external;

    // ------------------------------------------------------------------ the admin

    /// @notice Lists an adapter for mandates signed from now on.
    function listAdapter(address adapter) external;

    /// @notice Takes an adapter off the list. Existing vaults keep their rules.
    function delistAdapter(address adapter) external;

    // ------------------------------------------------------------------ views

    /// @notice Where the vault of these terms is or will be, whoever creates it.
    function predictVault(bytes32 digest) external view returns (address);

    /// @notice The EIP-712 digest that the owner signs.
    function termsDigest(MandateTerms calldata terms) external view returns (bytes32);

    /// @notice True for vaults that this factory created.
    function isVault(address vault) external view returns (bool);

    /// @notice How many vaults this factory created: the number of its VaultCreated logs.
    function vaultCount() external view returns (uint256);

    /// @notice True once the owner cancelled the terms with this digest.
    function isCancelled(bytes32 digest) external view returns (bool);

    /// @notice True while the adapter is listed.
    function isAdapter(address adapter) external view returns (bool);

    /// @notice The code that every vault delegates to.
    function implementation() external view returns (address);

    /// @notice The token that all vaults hold.
    function usdc() external view returns (address);

    /// @notice What checks signatures of wallets that are not created yet (ERC-6492), without any privilege.
    function validator() external view returns (address);

    /// @notice Who may mark, stop and settle. Read live by the vaults.
    function keeper() external view returns (address);

    /// @notice Whose signature the x402 adapter requires. Read live by the adapter.
    function guard() external view returns (address);

    /// @notice The pending keeper and the unix second from which it can accept; zeros when there is none.
    function pendingKeeper() external view returns (address proposedKeeper, uint64 eta);

    /// @notice The pending guard and the unix second from which it can accept; zeros when there is none.
    function pendingGuard() external view returns (address proposedGuard, uint64 eta);

    /// @notice True while createVault and execute are paused.
    function paused() external view returns (bool);

    /// @notice True when the account may pause the factory and remove the agent of any vault.
    function isPauser(address account) external view returns (bool);

    /// @notice The code of the vault under creation, which its creation code asks for. Empty at any other time.
    function vaultCode() external view returns (bytes memory);
}
