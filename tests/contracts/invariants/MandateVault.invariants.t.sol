// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";
import {Erc4626Adapter} from "../../../contracts/adapters/Erc4626Adapter.sol";
import {UniswapV3Adapter} from "../../../contracts/adapters/UniswapV3Adapter.sol";
import {Handler} from "./Handler.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";
import {Office} from "./OfficeHandler.sol";
import {Ghost, Replay, Spend} from "./Stage.sol";

/// @title Invariants of vaults and factory
/// @notice What holds after any sequence of what owner, agent, keeper, payee, officers, thief, passers-by and hostile
/// venues can do. The handler's books are its own: they follow the token and the actors, not the vault. The handler
/// answers every refusal itself, so a revert of its own would be a hole in the books and fails the run.
/// forge-config: default.invariant.fail-on-revert = true
contract MandateVaultInvariantsTest is Test {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    /// @dev Of the fixed sequences, far more than it takes.
    uint256 private constant MOST_ROUNDS = 64;

    Handler private handler;
    LedgerUSDC private ledger;

    function setUp() public override {
        handler = Handler(vm.deployCode("Handler.sol"));
        handler.build();
        ledger = handler.ledger();
        factory = handler.house();
    }

    function targetContracts() external view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function targetSelectors() external view returns (FuzzSelector[] memory list) {
        list = new FuzzSelector[](1);
        list[0] = FuzzSelector(address(handler), handler.actions());
    }

    // ------------------------------------------------------------------ 1 to 3: caps

    /// 1. What the agent takes out in any 86,400 seconds is within dailyCap, for every start, to the second, and
    /// `remaining` says exactly what is left of it.
    function invariant_01_any_24_hours_are_within_the_daily_cap() external {
        handler.sync();
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Spend[] memory spends = handler.spendsOf(i);
            uint256 cap = handler.termsOf(i).dailyCap;
            for (uint256 last; last < spends.length; ++last) {
                vm.assertLe(_sumUpTo(spends, spends[last].at), cap);
            }
            (, uint256 today,,) = handler.ghost(i).vault.remaining();
            assertEq(today, cap - _sumUpTo(spends, block.timestamp));
        }
    }

    /// @dev The sum over (now - 86400, now].
    function _sumUpTo(Spend[] memory spends, uint256 time) private pure returns (uint256 sum) {
        for (uint256 i; i < spends.length; ++i) {
            if (spends[i].at <= time && spends[i].at + 1 days > time) sum += spends[i].amount;
        }
    }

    /// 2. What one execute or one batch takes out is within perTxCap.
    function invariant_02_every_action_is_within_the_per_tx_cap() external view {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            vm.assertLe(handler.ghost(i).largestAction, handler.termsOf(i).perTxCap);
        }
    }

    /// 3. Own cash is deposited + received - spent - withdrawn - fees, and never above the balance.
    function invariant_03_own_cash_is_what_came_less_what_went_and_is_there() external {
        handler.sync();
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            uint256 came = g.deposited + g.received;
            uint256 went = g.spent + g.withdrawn + g.feePaid;
            (,, uint256 cash,) = g.vault.remaining();
            assertEq(cash, came > went ? came - went : 0);
            vm.assertLe(cash, ledger.balanceOf(address(g.vault)));
            // Spending alone never makes a debt: only withdrawn donations bring the difference to 0.
            vm.assertLe(g.spent, came);
        }
    }

    // ------------------------------------------------------------------ 4 and 5: where money can go

    /// 4. No allowance on a vault's USDC, or on any other token of it, is other than zero between transactions.
    function invariant_04_no_allowance_between_transactions() external view {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            address vault = address(handler.ghost(i).vault);
            assertEq(ledger.openAllowances(vault), 0);
            assertEq(handler.airdrop().openAllowances(vault), 0);
        }
        assertEq(handler.valued().thefts() + handler.unvalued().thefts(), 0);
    }

    /// 5. Whatever left a vault was spent by the agent inside the caps, withdrawn to the owner, or a fee of at most
    /// agentFeeBps of the gain. Keeper, admin, pauser and keeper admin never receive any of it, the thief only what a
    /// listed venue gave it of a spend, the agent only the fee.
    function invariant_05_nobody_is_paid_but_the_owner_and_the_fee() external view {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            address vault = address(g.vault);
            MandateTerms memory document = handler.termsOf(i);
            uint256 taken = ledger.paid(vault, document.owner);
            assertEq(ledger.outflow(vault), g.pulled + taken + g.feePaid);
            // Nothing that came in hides any of what left.
            assertEq(g.vault.totals().spent, g.pulled);
            assertEq(ledger.paid(vault, agent) + ledger.paid(vault, operator), g.feePaid);
            uint256 gain = g.received > g.spent ? g.received - g.spent : 0;
            vm.assertLe(g.feePaid, gain * document.agentFeeBps / 10_000);
            assertEq(ledger.paid(vault, keeper) + ledger.paid(vault, stranger), 0);
            assertEq(ledger.paid(vault, admin) + ledger.paid(vault, pauser) + ledger.paid(vault, keeperAdmin), 0);
            assertEq(
                ledger.paid(vault, thief), handler.valued().redirected(vault) + handler.unvalued().redirected(vault)
            );
        }
        assertEq(handler.trespasses(), 0);
    }

    // ------------------------------------------------------------------ 6 to 8: the life of a mandate

    /// 6. Before the end the owner leaves in two transactions, stop and withdraw; after the end within one day; with
    /// nobody's help, with all but the fee owed, while the factory is paused and the agent acts or is removed.
    function invariant_06_the_owner_can_always_leave() external {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            handler.sync();
            Ghost memory g = handler.ghost(i);
            MandateTerms memory document = handler.termsOf(i);
            uint256 snapshot = vm.snapshotState();
            if (!factory.paused()) {
                vm.prank(pauser);
                factory.pause();
            }
            if (g.vault.status() == Status.Working) {
                if (block.timestamp < document.endsAt) {
                    vm.prank(document.owner);
                    g.vault.stop("leave");
                } else if (block.timestamp < document.endsAt + 1 days) {
                    vm.warp(document.endsAt + 1 days);
                }
            }
            uint256 owed = g.vault.feeOwed();
            uint256 free = ledger.balanceOf(address(g.vault)) - owed;
            uint256 home = ledger.balanceOf(document.owner);
            if (free != 0) {
                vm.prank(document.owner);
                g.vault.withdraw(address(ledger), document.owner, free);
            }
            assertEq(ledger.balanceOf(address(g.vault)), owed);
            assertEq(ledger.balanceOf(document.owner), home + free);
            vm.revertToState(snapshot);
        }
        assertEq(handler.wrongRefusals(), 0);
    }

    /// 7. A status never goes back, a stop is never undone or moved, and no action passes unless Working, before the
    /// end and unpaused.
    function invariant_07_what_is_over_stays_over() external view {
        assertEq(handler.regressions(), 0);
        assertEq(handler.lateActions(), 0);
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            if (g.status >= Status.Stopped) assertEq(g.vault.agent(), address(0));
            assertEq(g.vault.agent(), g.agent);
        }
    }

    /// 8. Owner, budget, caps, floor, fee, end and rules never change, and the payee only by the payee's own hand.
    function invariant_08_the_terms_never_change() external view {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            MandateTerms memory document = handler.termsOf(i);
            assertEq(g.vault.owner(), document.owner);
            assertEq(g.vault.budget(), document.budgetUsdc);
            assertEq(g.vault.perTxCap(), document.perTxCap);
            assertEq(g.vault.dailyCap(), document.dailyCap);
            assertEq(g.vault.stopFloor(), document.stopFloor);
            assertEq(g.vault.agentFeeBps(), document.agentFeeBps);
            assertEq(g.vault.endsAt(), document.endsAt);
            assertEq(keccak256(abi.encode(g.vault.rules())), document.allowedTargetsHash);
            assertEq(g.vault.payee(), g.payee);
        }
    }

    // ------------------------------------------------------------------ 9 to 11: one document, one vault, one truth

    /// 9. The logs alone rebuild the state, and the balance is deposits + donations + received - spent - withdrawn -
    /// fees. Donations are no gain.
    function invariant_09_the_logs_rebuild_the_state() external {
        handler.sync();
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            Replay memory r = handler.replay(i);
            Totals memory t = g.vault.totals();
            bytes32 told = keccak256(abi.encode(r.deposited, r.spent, r.received, r.withdrawn, r.feePaid));
            assertEq(told, keccak256(abi.encode(t.deposited, t.spent, t.received, t.withdrawn, t.feePaid)));
            assertEq(told, keccak256(abi.encode(g.deposited, g.spent, g.received, g.withdrawn, g.feePaid)));
            assertEq(r.unvaluedOut, t.unvaluedOut);
            assertEq(g.unvaluedOut, t.unvaluedOut);
            assertEq(r.actions, t.nonce);
            assertEq(g.actions, t.nonce);
            assertEq(r.marks, g.marks);
            assertEq(r.status, g.vault.status());
            assertEq(r.agent, g.vault.agent());
            assertEq(r.payee, g.vault.payee());
            uint256 went = r.spent + r.withdrawn + r.feePaid;
            assertEq(ledger.balanceOf(address(g.vault)), r.deposited + g.donated + r.received - went);
            _assertFeeIgnoresDonations(i, g);
        }
        assertEq(handler.foreignEvents(), 0);
    }

    function _assertFeeIgnoresDonations(uint256 i, Ghost memory g) private view {
        uint256 gain = g.received > g.spent ? g.received - g.spent : 0;
        uint256 fee = g.payee == address(0) ? 0 : gain * handler.termsOf(i).agentFeeBps / 10_000;
        assertEq(g.vault.feeOwed(), fee - g.feePaid);
    }

    /// 10. One digest becomes one vault, at the address that was predicted, and cancelled terms none.
    function invariant_10_one_document_is_one_vault() external view {
        assertEq(handler.strayVaults(), 0);
        for (uint256 i; i < handler.vaultCount(); ++i) {
            Ghost memory g = handler.ghost(i);
            bytes32 digest = factory.termsDigest(handler.termsOf(i));
            assertEq(address(g.vault), factory.predictVault(digest));
            assertEq(g.vault.termsDigest(), digest);
            assertEq(handler.replay(i).created, 1);
            assertFalse(factory.isCancelled(digest));
        }
    }

    /// 11. A signature over any other field, chain or factory creates nothing: it is the signature that is refused.
    function invariant_11_a_signature_serves_its_own_document_alone() external view {
        assertEq(handler.forgeries(), 0);
    }

    // ------------------------------------------------------------------ 12 to 14: the door

    /// 12. No entry of a vault and no guarded view answers a venue in the middle of a call: the guard refuses each of them,
    /// before anything else does. No entry of the factory that needs an office answers it either.
    function invariant_12_reentry_always_reverts() external view {
        assertEq(handler.valued().reentries() + handler.unvalued().reentries(), 0);
    }

    /// 13. A vault never answers ERC-1271, for no hash and by no signature, nor any function that it has not.
    function invariant_13_a_vault_never_signs() external view {
        for (uint256 i; i < handler.vaultCount(); ++i) {
            address vault = address(handler.ghost(i).vault);
            bytes32 hash = keccak256(abi.encode(block.timestamp, i));
            bytes[3] memory questions = [
                abi.encodeWithSignature("isValidSignature(bytes32,bytes)", hash, _sign(OWNER_KEY, hash)),
                abi.encodeWithSignature("isValidSignature(bytes,bytes)", abi.encode(hash), _sign(OWNER_KEY, hash)),
                abi.encodePacked(bytes4(hash), hash)
            ];
            for (uint256 q; q < questions.length; ++q) {
                (bool answered, bytes memory answer) = vault.staticcall(questions[q]);
                assertFalse(answered);
                assertEq(answer.length, 0);
            }
        }
    }

    /// 14. `check` agrees with `execute` and `executeBatch`: the same refusal in the same words, or none.
    function invariant_14_check_agrees_with_execute() external view {
        assertEq(handler.disagreements(), 0);
    }

    // 15 is about the reserve token: ReserveToken.invariants.t.sol.

    /// 16. Keeper and guard never change before eta, after the window, after a cancellation, or to another account.
    function invariant_16_offices_change_slowly_and_in_public() external view {
        assertEq(handler.earlyHandovers(), 0);
        (Office memory keeperOffice, Office memory guardOffice) = handler.offices();
        assertEq(factory.keeper(), keeperOffice.holder);
        assertEq(factory.guard(), guardOffice.holder);
        (address proposed, uint64 eta) = factory.pendingKeeper();
        assertEq(proposed, keeperOffice.named);
        assertEq(eta, keeperOffice.namedAt == 0 ? 0 : keeperOffice.namedAt + 48 hours);
    }

    /// 17. An adapter holds what it books for vaults, beside what somebody sent to it, and no USDC; what a pool lends is worth
    /// no more than its ceiling.
    function invariant_17_adapters_hold_what_they_book() external {
        handler.sync();
        Erc4626Adapter lending = handler.lending();
        UniswapV3Adapter swaps = handler.swaps();
        (uint256 lent, uint256 swapped) = (handler.gifts(address(lending)), handler.gifts(address(swaps)));
        for (uint256 i; i < handler.vaultCount(); ++i) {
            address vault = address(handler.ghost(i).vault);
            lent += lending.positionOf(vault);
            swapped += swaps.positionOf(vault);
            vm.assertLe(lending.valueOf(vault), lending.ceilingOf(vault));
        }
        assertEq(lending.pool().balanceOf(address(lending)), lent);
        assertEq(swaps.token().balanceOf(address(swaps)), swapped);
        assertEq(ledger.balanceOf(address(lending)) + ledger.balanceOf(address(swaps)), 0);
    }

    // ------------------------------------------------------------------ the handler reaches what it claims

    /// The invariants are worth what the sequences reach. Fixed ones of 250 actions, each from the beginning because ends
    /// are final, pass every door together, and no action of the handler fails by itself.
    function test_handler__every_action_succeeds_at_least_once() public {
        bytes32[] memory doors = handler.doors();
        uint256[] memory passes = new uint256[](doors.length);
        uint256 attempts;
        bytes32 missing = doors[0];
        for (uint256 round; missing != 0; ++round) {
            if (round == MOST_ROUNDS) revert NeverPassed(missing);
            vm.resetGasMetering();
            uint256 snapshot = vm.snapshotState();
            // Each story begins with one of the ten tricks.
            handler.agentExecutes(0, round % 10, 25, USD);
            for (uint256 i; i < 250; ++i) {
                _act(keccak256(abi.encode("a fixed sequence", round, i)));
            }
            // Every story is told to its end: the grace is over, and a passer-by settles.
            handler.timePasses(0, 3, 1);
            handler.anyoneActs(0, 2, 0);
            for (uint256 d; d < doors.length; ++d) {
                passes[d] += handler.done(doors[d]);
            }
            attempts += handler.valued().attempts() + handler.unvalued().attempts();
            vm.revertToState(snapshot);
            missing = _firstWithout(doors, passes);
        }
        vm.assertLt(0, attempts);
    }

    function _firstWithout(bytes32[] memory doors, uint256[] memory passes) private pure returns (bytes32) {
        for (uint256 d; d < doors.length; ++d) {
            if (passes[d] == 0) return doors[d];
        }
        return 0;
    }

    error NeverPassed(bytes32 door);

    function _act(bytes32 word) private {
        bytes4[] memory actions = handler.actions();
        bytes4 action = actions[uint256(word) % actions.length];
        (bool passed,) = address(handler)
            .call(
                abi.encodePacked(
                    action,
                    keccak256(abi.encode(word, 1)),
                    keccak256(abi.encode(word, 2)),
                    keccak256(abi.encode(word, 3)),
                    keccak256(abi.encode(word, 4))
                )
            );
        assertTrue(passed);
    }
}
