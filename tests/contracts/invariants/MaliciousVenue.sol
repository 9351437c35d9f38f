// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";

import {IAdapter} from "../../../contracts/interfaces/IAdapter.sol";
import {IMandateVault} from "../../../contracts/interfaces/IMandateVault.sol";
import {KIND_EXIT, KIND_VALUED_SPEND, NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {Rule} from "../../../contracts/libraries/TermsLib.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";

/// @notice What the venue does when it is called.
enum Trick {
    /// Pulls, or pays, what it was asked for.
    Honest,
    /// Pulls the whole allowance.
    TakeAll,
    /// Tries to pull one unit more than the allowance, then the allowance, then one more.
    Overreach,
    /// Pulls nothing and hopes that the allowance stays.
    KeepAllowance,
    /// Pulls, and pays half back in the same call.
    TakeAndGive,
    /// Pulls straight into the thief's pocket; on an exit, pays the thief instead of the vault.
    Redirect,
    /// Calls every entry of the vault and the factory, then does as it was asked.
    Reenter,
    /// Burns gas, then does as it was asked.
    BurnGas,
    /// Pulls, while somebody sends in as much, so that the balance never falls.
    PushIn,
    /// Reverts.
    Fail
}

/// @notice What left the vault and what came in during one call, as the token's own books have it.
struct Seen {
    uint256 out;
    uint256 back;
}

/// @title MaliciousVenue
/// @notice A venue with every trick that research and audits name, and a memory of what it saw.
contract MaliciousVenue is IAdapter {
    LedgerUSDC private immutable USDC;
    address private immutable THIEF;
    address private immutable FACTORY;

    /// @notice Entries that answered in the middle of a call, or that anything but the vault's guard refused. Must stay 0.
    uint256 public reentries;

    /// @notice Entries that were tried in the middle of a call.
    uint256 public attempts;

    /// @notice Pulls that went through without being covered. Must stay 0.
    uint256 public thefts;

    /// @notice What was pulled from vaults straight to the thief, inside the caps.
    mapping(address vault => uint256) public redirected;

    /// @notice What this venue claims that positions are worth.
    mapping(address vault => uint256) public override valueOf;

    bytes[] private _vaultEntries;
    bytes[] private _factoryEntries;
    Seen[] private _seen;

    /// @notice Thrown by the trick Fail.
    error VenueFailed();

    constructor(address usdc, address thief, address factory) {
        USDC = LedgerUSDC(usdc);
        THIEF = thief;
        FACTORY = factory;
    }

    // ------------------------------------------------------------------ what rules name

    /// @notice A function to spend at.
    function spend(Trick trick, uint256 amount) external {
        Seen memory before = _flowOf(msg.sender);
        _distract(trick);
        _pull(trick, amount);
        _note(before);
    }

    /// @notice A function to bring money home by.
    function exit(Trick trick, uint256 amount) external {
        Seen memory before = _flowOf(msg.sender);
        _distract(trick);
        if (trick == Trick.TakeAll || trick == Trick.Overreach) _steal(msg.sender, 1);
        address to = trick == Trick.Redirect ? THIEF : msg.sender;
        if (trick != Trick.KeepAllowance) USDC.transfer(to, amount);
        _note(before);
    }

    function _flowOf(address vault) private view returns (Seen memory) {
        return Seen(USDC.outflow(vault), USDC.inflow(vault));
    }

    function _note(Seen memory before) private {
        Seen memory later = _flowOf(msg.sender);
        _seen.push(Seen(later.out - before.out, later.back - before.back));
    }

    function _distract(Trick trick) private {
        if (trick == Trick.Fail) revert VenueFailed();
        if (trick == Trick.Reenter) _reenter();
        if (trick == Trick.BurnGas) {
            for (uint256 i; i < 500; ++i) {
                _seen.length;
            }
        }
    }

    function _pull(Trick trick, uint256 amount) private {
        uint256 allowed = USDC.allowance(msg.sender, address(this));
        if (trick == Trick.KeepAllowance) return;
        if (trick == Trick.Redirect) {
            USDC.transferFrom(msg.sender, THIEF, amount);
            redirected[msg.sender] += amount;
        } else if (trick == Trick.TakeAll) {
            USDC.transferFrom(msg.sender, address(this), allowed);
        } else if (trick == Trick.Overreach) {
            _steal(msg.sender, allowed + 1);
            USDC.transferFrom(msg.sender, address(this), allowed);
            _steal(msg.sender, 1);
        } else {
            USDC.transferFrom(msg.sender, address(this), amount);
            if (trick == Trick.TakeAndGive) USDC.transfer(msg.sender, amount / 2);
            if (trick == Trick.PushIn) USDC.mint(msg.sender, amount);
        }
    }

    function _reenter() private {
        for (uint256 i; i < _vaultEntries.length; ++i) {
            (bool answered, bytes memory answer) = msg.sender.call(_vaultEntries[i]);
            if (answered || bytes4(answer) != ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector) {
                ++reentries;
            }
            ++attempts;
        }
        for (uint256 i; i < _factoryEntries.length; ++i) {
            (bool answered,) = FACTORY.call(_factoryEntries[i]);
            if (answered) ++reentries;
            ++attempts;
        }
    }

    function _steal(address vault, uint256 amount) private {
        try USDC.transferFrom(vault, address(this), amount) returns (bool) {
            ++thefts;
        } catch {}
    }

    // ------------------------------------------------------------------ in transactions of its own

    /// @notice Tries to pull from a vault that is not calling.
    function pullLater(address vault, uint256 amount) external {
        _steal(vault, amount);
    }

    /// @notice Pays back late and by the way: a plain transfer.
    function payLate(address vault, uint256 amount) external {
        USDC.transfer(vault, amount);
    }

    /// @notice Pays back late as a listed adapter does.
    function payProceeds(address vault, uint256 amount) external {
        USDC.approve(vault, amount);
        IMandateVault(vault).receiveProceeds(amount);
    }

    /// @notice Lies about the worth of positions.
    function claimValue(address vault, uint256 value) external {
        valueOf[vault] = value;
    }

    // ------------------------------------------------------------------ the test's side

    /// @notice Sets what the trick Reenter calls.
    function setEntries(bytes[] calldata vaultEntries, bytes[] calldata factoryEntries) external {
        for (uint256 i; i < vaultEntries.length; ++i) {
            _vaultEntries.push(vaultEntries[i]);
        }
        for (uint256 i; i < factoryEntries.length; ++i) {
            _factoryEntries.push(factoryEntries[i]);
        }
    }

    /// @notice What was seen since the last `forget`.
    function seen() external view returns (Seen[] memory) {
        return _seen;
    }

    /// @notice Empties the memory.
    function forget() external {
        delete _seen;
    }

    /// @inheritdoc IAdapter
    /// @dev More units than any price can be multiplied with.
    function positionOf(address) external pure returns (uint256) {
        return type(uint256).max;
    }

    /// @inheritdoc IAdapter
    function unitPrice() external pure returns (uint256) {
        return type(uint256).max;
    }

    /// @inheritdoc IAdapter
    /// @dev A lie: the worth is whatever `claimValue` said.
    function isLinear() external pure returns (bool) {
        return true;
    }

    /// @inheritdoc IAdapter
    function rules() external view returns (Rule[] memory list) {
        list = new Rule[](2);
        list[0] = Rule(address(this), this.spend.selector, NO_PIN, KIND_VALUED_SPEND);
        list[1] = Rule(address(this), this.exit.selector, NO_PIN, KIND_EXIT);
    }
}
