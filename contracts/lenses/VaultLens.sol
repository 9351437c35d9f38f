// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {IMandateVault, Status, Totals} from "../interfaces/IMandateVault.sol";
import {IMandateVaultFactory} from "../interfaces/IMandateVaultFactory.sol";
import {IUSDC} from "../interfaces/IUSDC.sol";
import {ErrorsLib} from "../libraries/ErrorsLib.sol";

/// @notice The block whose state an answer describes.
struct LensBlock {
    uint256 number;
    /// Unix seconds.
    uint256 time;
    /// Hash of the block before: a block does not know its own.
    bytes32 parentHash;
    /// Vaults that the factory created up to this block, and in it before this call.
    uint256 vaultCount;
}

/// @notice How much of one address could be read.
enum Outcome {
    /// The code at this address is not a vault of the factory, or the gas was not enough. All other fields are 0 and mean
    /// nothing.
    Unread,
    /// There is no code at this address. All other fields are 0.
    NoVault,
    /// Everything but the worth, which is unknown and given as 0: an adapter reverted or used up the gas.
    Unvalued,
    /// Everything.
    Valued
}

/// @notice What a judgement of a vault needs. Its floor and its end are in the signed terms.
struct LensReading {
    Outcome outcome;
    Status status;
    /// Zero when removed, stopped or not yet set.
    address agent;
    /// USDC base units, as the next three.
    uint256 worth;
    /// The part of the worth that counts at cost. Known without the worth too.
    uint256 unvaluedOut;
    /// The mandate's own cash, without what anybody sent to the vault outside a call.
    uint256 ownCash;
    uint256 feeOwed;
    bytes32 logHead;
}

/// @notice A reading with the rest of a vault's account.
struct LensPosition {
    LensReading reading;
    /// Zero on the open board until an agent spends.
    address payee;
    /// Unix second of the stop; 0 without one.
    uint256 stoppedAt;
    /// USDC base units, with what anybody sent to the vault.
    uint256 balance;
    Totals totals;
}

/// @title VaultLens
/// @notice Reads many vaults of one factory in one eth_call: one backend, one state, one height.
///
/// ROLE
/// - It holds no money, no office and no state, and no contract depends on it.
/// - Its figures are the vaults' own views. Own cash it adds up from the totals, as a vault does.
///
/// GAS
/// - Each vault gets at most VAULT_GAS, and none is begun unless that and the answer can be paid for. The answer covers the
///   first vaults, in the order asked, and may be shorter than the question.
/// - A vault that is asked alone gets all the gas there is. Ask again so before Unread or Unvalued counts as unknown.
/// - No vault and no adapter costs the others more than VAULT_GAS. What a failed call returned is never copied.
///
/// NOT GUARANTEED
/// - That a node tells the truth. Whoever acts on a reading is measured by the contract that gets the transaction.
/// - That NoVault still holds in the next block: anybody may create the vault of signed terms.
contract VaultLens {
    /// @notice What one of several vaults may use: four times what 32 adapters at 6,000 gas each need.
    uint256 public constant VAULT_GAS = 1_000_000;

    /// @dev For each vault asked for: more than a position costs to encode.
    uint256 private constant ANSWER_GAS = 6_000;

    /// @notice The factory whose vaults are read.
    IMandateVaultFactory public immutable FACTORY;

    IUSDC private immutable USDC;

    constructor(IMandateVaultFactory factory) {
        if (address(factory).code.length == 0) revert ErrorsLib.BadAddress(address(factory));
        FACTORY = factory;
        USDC = IUSDC(factory.usdc());
    }

    // ------------------------------------------------------------------ many vaults

    /// @notice Readings of the first vaults, as many as the gas allows.
    function readings(address[] calldata vaults)
        external
        view
        returns (LensBlock memory seen, LensReading[] memory found)
    {
        found = new LensReading[](vaults.length);
        uint256 count;
        for (; count < vaults.length; ++count) {
            uint256 most = _gasForOne(vaults.length);
            if (most == 0) break;
            try this.readingOf{gas: most}(vaults[count]) returns (LensReading memory one) {
                found[count] = one;
            } catch {}
        }
        assembly ("memory-safe") {
            mstore(found, count)
        }
        return (_block(), found);
    }

    /// @notice Positions of the first vaults, as many as the gas allows.
    function positions(address[] calldata vaults)
        external
        view
        returns (LensBlock memory seen, LensPosition[] memory found)
    {
        found = new LensPosition[](vaults.length);
        uint256 count;
        for (; count < vaults.length; ++count) {
            uint256 most = _gasForOne(vaults.length);
            if (most == 0) break;
            try this.positionOf{gas: most}(vaults[count]) returns (LensPosition memory one) {
                found[count] = one;
            } catch {}
        }
        assembly ("memory-safe") {
            mstore(found, count)
        }
        return (_block(), found);
    }

    // ------------------------------------------------------------------ one vault

    /// @notice One vault, within the gas of the call.
    function readingOf(address vault) external view returns (LensReading memory reading) {
        if (vault.code.length == 0) reading.outcome = Outcome.NoVault;
        else if (FACTORY.isVault(vault)) (reading,) = _read(IMandateVault(vault));
    }

    /// @notice One vault as a position, within the gas of the call.
    function positionOf(address vault) external view returns (LensPosition memory position) {
        if (vault.code.length == 0) {
            position.reading.outcome = Outcome.NoVault;
        } else if (FACTORY.isVault(vault)) {
            position.payee = IMandateVault(vault).payee();
            position.stoppedAt = IMandateVault(vault).stoppedAt();
            position.balance = USDC.balanceOf(vault);
            (position.reading, position.totals) = _read(IMandateVault(vault));
        }
    }

    /// @dev The worth comes last: only it runs foreign code, which may use up all but a 64th of the gas.
    function _read(IMandateVault vault) private view returns (LensReading memory reading, Totals memory totals) {
        totals = vault.totals();
        reading.status = vault.status();
        reading.agent = vault.agent();
        reading.unvaluedOut = totals.unvaluedOut;
        reading.ownCash =
            Math.saturatingSub(totals.deposited + totals.received, totals.spent + totals.withdrawn + totals.feePaid);
        reading.feeOwed = vault.feeOwed();
        reading.logHead = vault.logHead();
        reading.outcome = Outcome.Unvalued;
        try vault.worth() returns (uint256 worth, uint256) {
            (reading.outcome, reading.worth) = (Outcome.Valued, worth);
        } catch {}
    }

    // ------------------------------------------------------------------ gas and block

    /// @dev What the next vault may use; 0 when what is left does not pay for one and the answer.
    function _gasForOne(uint256 asked) private view returns (uint256) {
        uint256 left = gasleft();
        // A call gets at most 63 of 64 parts of what is left, whatever it was promised.
        left = Math.saturatingSub(left - left / 64, ANSWER_GAS * (asked + 1));
        if (left < VAULT_GAS) return 0;
        return asked == 1 ? left : VAULT_GAS;
    }

    function _block() private view returns (LensBlock memory) {
        return LensBlock({
            number: block.number,
            time: block.timestamp,
            parentHash: blockhash(block.number - 1),
            vaultCount: FACTORY.vaultCount()
        });
    }
}
