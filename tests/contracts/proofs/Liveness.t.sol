// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MandateVault} from "../../../contracts/MandateVault.sol";
import {Status} from "../../../contracts/interfaces/IMandateVault.sol";
import {KIND_VALUED_SPEND, NO_PIN} from "../../../contracts/libraries/ConstantsLib.sol";
import {MandateTerms, Rule} from "../../../contracts/libraries/TermsLib.sol";
import {VaultCodeLib} from "../../../contracts/libraries/VaultCodeLib.sol";
import {FreezableUSDC} from "../../../contracts/mocks/FreezableUSDC.sol";
import {Proof} from "./Proof.sol";

/// @notice Answers nothing, whatever it is asked.
contract Dead {
    fallback() external {
        revert("dead");
    }
}

/// @notice The owner's cash comes out of every state with everybody else gone: the keeper never acts, the factory and the
/// adapter answer nothing, owner, agent and payee are frozen at USDC.
/// @dev Where the other proofs say nothing of a path that reverts, here a refusal of the owner is what is looked for. The
/// mandate takes no fee: that one is owed is a product of two symbols, and leaves the rest of the way as it is.
contract LivenessProof is Proof {
    address private constant OWNER = address(0xA11CE);
    address private constant AGENT = address(0xA6E27);
    address private constant PAYEE = address(0xFEE);
    address private constant RECEIVER = address(0xB0B);
    MandateVault private constant VAULT = MandateVault(address(0x7A017));

    FreezableUSDC private _usdc;
    uint256 private _endsAt;

    function setUp() public {
        _usdc = new FreezableUSDC();
        // It deploys the implementation, so it is the vault's factory.
        MandateVault implementation = new MandateVault(address(_usdc));

        MandateTerms memory terms;
        terms.owner = OWNER;
        terms.agent = AGENT;
        terms.budgetUsdc = svm.createUint(53, "budget");
        terms.perTxCap = svm.createUint(53, "perTxCap");
        terms.dailyCap = svm.createUint(53, "dailyCap");
        terms.stopFloor = svm.createUint(53, "stopFloor");
        _endsAt = svm.createUint(32, "endsAt");
        // The symbol has no more bits than the field.
        // forge-lint: disable-next-line(unsafe-typecast)
        terms.endsAt = uint64(_endsAt);
        Rule[] memory rules = new Rule[](1);
        rules[0] = Rule(address(new Dead()), 0x01020304, NO_PIN, KIND_VALUED_SPEND);
        vm.etch(address(VAULT), this.encode(address(implementation), terms, rules));
        _usdc.setFrozen(OWNER, true);
        _usdc.setFrozen(AGENT, true);
        _usdc.setFrozen(PAYEE, true);
    }

    /// @dev The vault's factory is this contract, and every question to it is refused.
    fallback() external {
        revert("dead");
    }

    function encode(address implementation, MandateTerms calldata terms, Rule[] calldata rules)
        external
        pure
        returns (bytes memory)
    {
        return VaultCodeLib.encode(implementation, "digest", terms, rules);
    }

    /// @dev Funding, Stopped, Settled, and Working once the grace is over: one transaction.
    function check_liveness__open__one_withdrawal() external {
        _anyState();
        vm.assume(VAULT.status() != Status.Working || block.timestamp >= _endsAt + 1 days);
        _withdrawsAll();
    }

    /// @dev Working before the end: a stop and a withdrawal.
    function check_liveness__working__a_stop_and_a_withdrawal() external {
        _anyState();
        vm.assume(VAULT.status() == Status.Working && VAULT.stoppedAt() == 0 && block.timestamp < _endsAt);
        vm.prank(OWNER);
        try VAULT.stop("out") {}
        catch {
            assert(false);
        }
        _withdrawsAll();
    }

    /// @dev In the day after the end: a wait and a withdrawal.
    function check_liveness__grace__a_wait_and_a_withdrawal() external {
        _anyState();
        vm.assume(VAULT.status() == Status.Working);
        vm.assume(block.timestamp >= _endsAt && block.timestamp < _endsAt + 1 days);
        (,, uint64 until) = VAULT.lock();
        assert(until == _endsAt + 1 days);
        vm.warp(until);
        _withdrawsAll();
    }

    function check_reachable_liveness__open() external {
        _anyState();
        vm.assume(VAULT.status() != Status.Working || block.timestamp >= _endsAt + 1 days);
        _withdrawsAll();
        assert(false);
    }

    function check_reachable_liveness__working() external {
        _anyState();
        vm.assume(VAULT.status() == Status.Working && VAULT.stoppedAt() == 0 && block.timestamp < _endsAt);
        vm.prank(OWNER);
        VAULT.stop("out");
        _withdrawsAll();
        assert(false);
    }

    function check_reachable_liveness__grace() external {
        _anyState();
        vm.assume(VAULT.status() == Status.Working);
        vm.assume(block.timestamp >= _endsAt && block.timestamp < _endsAt + 1 days);
        vm.warp(_endsAt + 1 days);
        _withdrawsAll();
        assert(false);
    }

    function _withdrawsAll() private {
        uint256 balance = _usdc.balanceOf(address(VAULT));
        vm.prank(OWNER);
        try VAULT.withdraw(address(_usdc), RECEIVER, balance) {
            assert(_usdc.balanceOf(address(VAULT)) == 0 && _usdc.balanceOf(RECEIVER) == balance);
        } catch {
            assert(false);
        }
    }

    /// @dev As in MandateVault.t.sol, with some USDC there: nothing cannot be withdrawn.
    function _anyState() private {
        vm.warp(svm.createUint(32, "now"));
        uint256 agent = svm.createBool("hasAgent") ? uint256(uint160(AGENT)) : 0;
        uint256 control = agent | (svm.createUint(2, "status") << 160) | (svm.createUint(40, "stoppedAt") << 168);
        uint256 flags = (svm.createBool("hadAgent") ? 1 : 0) | (svm.createBool("payeeFixed") ? 1 << 8 : 0);
        _store(0, control | (flags << 208));
        _store(1, svm.createUint(72, "spent") | (svm.createUint(72, "received") << 80));
        uint256 unvaluedOut = svm.createUint(72, "unvaluedOut");
        _store(2, svm.createUint(72, "deposited") | (unvaluedOut << 80) | (svm.createUint(72, "feePaid") << 160));
        _store(3, uint256(uint160(PAYEE)) | (svm.createUint(72, "withdrawn") << 160));
        uint256 balance = svm.createUint(80, "balance");
        vm.assume(balance != 0);
        _usdc.mint(address(VAULT), balance);
    }

    function _store(uint256 slot, uint256 word) private {
        vm.store(address(VAULT), bytes32(slot), bytes32(word));
    }
}
