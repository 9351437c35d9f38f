// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {HookUSDC} from "./Tokens.sol";

/// @notice An agent that is a venue too: while the vault calls it, it acts as the agent.
contract AgentVenue {
    MandateVault private _vault;
    bool public passed;
    bytes public answer;

    function work(MandateVault vault) external {
        _vault = vault;
        vault.execute(Call(address(this), 0, abi.encodeCall(this.called, ())));
    }

    function called() external {
        (passed, answer) = address(_vault).call(abi.encodeCall(_vault.stop, ("halfway")));
    }

    function stop(MandateVault vault) external {
        vault.stop("afterwards");
    }
}

/// @notice Pitfall 9: a way back in, from a venue, from a token, and from a token that is being swept.
contract ReentrancyAttacksTest is Test {
    bytes private reentrant = abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector);

    MandateVault internal vault;
    HookUSDC internal hook;

    function setUp() public override {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("Tokens.sol:HookUSDC");
        _draftTerms();
        hook = HookUSDC(address(usdc));
        vault = _createWorking();
    }

    /// @dev Every entry of the vault that changes state. tests/architecture/test_vault_surface.py holds this list and the
    /// next two against the ABI.
    function _entries() private view returns (bytes[] memory list) {
        list = new bytes[](16);
        list[0] = abi.encodeCall(vault.execute, (_buy(1)));
        list[1] = abi.encodeCall(vault.executeBatch, (_batch(_buy(1))));
        list[2] = abi.encodeCall(vault.deposit, (1));
        list[3] = abi.encodeCall(vault.depositWithAuthorization, (owner, 1, 0, 0, bytes32(0), ""));
        list[4] = abi.encodeCall(vault.withdraw, (address(usdc), thief, 1));
        list[5] = abi.encodeCall(vault.setAgent, (thief));
        list[6] = abi.encodeCall(vault.removeAgent, ());
        list[7] = abi.encodeCall(vault.setPayee, (thief));
        list[8] = abi.encodeCall(vault.mark, ());
        list[9] = abi.encodeCall(vault.stop, (bytes32(0)));
        list[10] = abi.encodeCall(vault.unwind, (_batch(_give(1))));
        list[11] = abi.encodeCall(vault.receiveProceeds, (1));
        list[12] = abi.encodeCall(vault.enforceStopLine, ());
        list[13] = abi.encodeCall(vault.settle, ());
        list[14] = abi.encodeCall(vault.initialize, (_noFunding()));
        list[15] = abi.encodeCall(vault.fund, (_noFunding()));
    }

    /// @dev Every view that adds up what a call is about to change.
    function _views() private view returns (bytes[] memory list) {
        list = new bytes[](7);
        list[0] = abi.encodeCall(vault.remaining, ());
        list[1] = abi.encodeCall(vault.check, (_batch(_buy(1))));
        list[2] = abi.encodeCall(vault.requireExecutable, (_batch(_buy(1))));
        list[3] = abi.encodeCall(vault.worth, ());
        list[4] = abi.encodeCall(vault.feeOwed, ());
        list[5] = abi.encodeCall(vault.lock, ());
        list[6] = abi.encodeCall(vault.totals, ());
    }

    /// @dev Views of the signed terms, and of single words that are written whole: status, agent, payee, log head. Halfway
    /// through a call they say what held before it or holds after it, and no sum.
    function _unguarded() private view returns (bytes[] memory list) {
        list = new bytes[](17);
        list[0] = abi.encodeCall(vault.owner, ());
        list[1] = abi.encodeCall(vault.agent, ());
        list[2] = abi.encodeCall(vault.payee, ());
        list[3] = abi.encodeCall(vault.status, ());
        list[4] = abi.encodeCall(vault.paused, ());
        list[5] = abi.encodeCall(vault.stoppedAt, ());
        list[6] = abi.encodeCall(vault.endsAt, ());
        list[7] = abi.encodeCall(vault.budget, ());
        list[8] = abi.encodeCall(vault.perTxCap, ());
        list[9] = abi.encodeCall(vault.dailyCap, ());
        list[10] = abi.encodeCall(vault.stopFloor, ());
        list[11] = abi.encodeCall(vault.agentFeeBps, ());
        list[12] = abi.encodeCall(vault.logHead, ());
        list[13] = abi.encodeCall(vault.termsDigest, ());
        list[14] = abi.encodeCall(vault.rules, ());
        list[15] = abi.encodeCall(vault.isAllowed, (address(hostile), HostileVenue.take.selector));
        list[16] = abi.encodeCall(vault.depositNonce, (owner, 1, bytes32(0)));
    }

    // ------------------------------------------------------------------ from a venue

    function test_pitfall_09__every_entry_from_execute__reverts() public {
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            _execute(vault, _reenter(entries[i]));
        }
    }

    function test_pitfall_09__every_entry_from_executeBatch__reverts() public {
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            vm.prank(agent);
            vault.executeBatch(_batch(_give(1), _reenter(entries[i])));
        }
    }

    function test_pitfall_09__every_entry_from_unwind__reverts() public {
        _stop(vault);
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            vm.prank(owner);
            vault.unwind(_batch(_reenter(entries[i])));
        }
    }

    /// @dev The vault would end in the middle of an action that it still has to count.
    function test_pitfall_09__stop_by_the_agent_from_its_own_venue__reverts_and_passes_afterwards() public {
        AgentVenue both = new AgentVenue();
        terms.nonce = 7;
        terms.agent = address(both);
        _addRule(address(both), AgentVenue.called.selector, NO_PIN, KIND_EXIT);
        vault = _createWorking();
        both.work(vault);
        assertFalse(both.passed());
        assertEq(both.answer(), reentrant);
        assertEq(vault.status(), Status.Working);
        assertEq(vault.totals().nonce, 1);
        both.stop(vault);
        assertEq(vault.status(), Status.Stopped);
    }

    function test_pitfall_09__every_limit_read_in_the_middle__reverts() public {
        bytes[] memory entries = _views();
        for (uint256 i; i < entries.length; ++i) {
            _expectRevert(reentrant);
            _execute(vault, _reenterView(entries[i]));
        }
    }

    function test_pitfall_09__every_other_view_in_the_middle__answers_as_before() public {
        bytes[] memory entries = _unguarded();
        for (uint256 i; i < entries.length; ++i) {
            uint256 snapshot = vm.snapshotState();
            (, bytes memory before) = address(vault).staticcall(entries[i]);
            bytes memory answer = _execute(vault, _reenterView(entries[i]));
            assertEq(abi.decode(answer, (bytes)), before);
            vm.revertToState(snapshot);
        }
    }

    // ------------------------------------------------------------------ from the token

    /// @dev Sets the hook, acts as `who`, and expects that the guard refused what the hook did.
    function _expectHookRefused(address who, bytes memory action, bytes memory entry) private {
        uint256 before = hook.calls();
        hook.setHook(address(vault), entry);
        vm.prank(who);
        (bool passed,) = address(vault).call(action);
        assertTrue(passed);
        assertEq(hook.calls(), before + 1);
        assertFalse(hook.answered());
        assertEq(hook.answer(), reentrant);
    }

    function test_pitfall_09__every_entry_from_the_token_in_execute__reverts() public {
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectHookRefused(agent, abi.encodeCall(vault.execute, (_take(1))), entries[i]);
        }
    }

    function test_pitfall_09__every_entry_from_the_token_in_deposit__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectHookRefused(owner, abi.encodeCall(vault.deposit, (1)), entries[i]);
        }
    }

    function test_pitfall_09__every_entry_from_the_token_in_withdraw__reverts() public {
        _stop(vault);
        bytes[] memory entries = _entries();
        for (uint256 i; i < entries.length; ++i) {
            _expectHookRefused(owner, abi.encodeCall(vault.withdraw, (address(usdc), owner, 1)), entries[i]);
        }
    }

    function test_pitfall_09__every_entry_from_the_token_in_receiveProceeds__reverts() public {
        bytes[] memory entries = _entries();
        vm.prank(address(relay));
        usdc.approve(address(vault), BUDGET);
        for (uint256 i; i < entries.length; ++i) {
            _expectHookRefused(address(relay), abi.encodeCall(vault.receiveProceeds, (1)), entries[i]);
        }
    }

    function test_pitfall_09__every_entry_from_the_token_in_settle__reverts() public {
        bytes[] memory entries = _entries();
        _stop(vault);
        for (uint256 i; i < entries.length; ++i) {
            // Something new to settle each time: 1 of 10 is the fee.
            vm.prank(owner);
            vault.unwind(_batch(_give(10)));
            _expectHookRefused(owner, abi.encodeCall(vault.settle, ()), entries[i]);
        }
        assertEq(vault.totals().feePaid, entries.length);
    }

    function test_pitfall_09__every_entry_from_a_swept_token__reverts() public {
        // The owner is talked into sweeping an airdrop whose transfer calls back.
        bytes[] memory entries = _entries();
        _stop(vault);
        HookUSDC airdrop = HookUSDC(vm.deployCode("Tokens.sol:HookUSDC"));
        airdrop.mint(address(vault), 100);
        for (uint256 i; i < entries.length; ++i) {
            airdrop.setHook(address(vault), entries[i]);
            vm.prank(owner);
            vault.withdraw(address(airdrop), owner, 1);
            assertFalse(airdrop.answered());
            assertEq(airdrop.answer(), reentrant);
        }
    }

    // ------------------------------------------------------------------ the factory

    function _create(Funding memory funding) private returns (MandateVault created) {
        vm.prank(owner);
        created = MandateVault(factory.createVault(terms, rules, "", funding));
    }

    function test_pitfall_09__creation_of_the_same_vault_in_the_middle_of_its_creation__funds_nothing_twice() public {
        terms.nonce = 3;
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET / 2);
        hook.setHook(address(factory), abi.encodeCall(factory.createVault, (terms, rules, "", funding)));
        MandateVault created = _create(funding);
        // The authorization is spent by then, so the inner call finds the vault and does nothing.
        assertTrue(hook.answered());
        assertEq(hook.answer(), abi.encode(address(created)));
        assertEq(created.totals().deposited, BUDGET / 2);
        assertEq(usdc.balanceOf(address(created)), BUDGET / 2);
    }

    function test_pitfall_09__creation_of_another_vault_in_the_middle__gives_each_its_own_terms() public {
        terms.nonce = 4;
        MandateTerms memory outer = terms;
        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        terms.nonce = 5;
        terms.perTxCap = 7;
        bytes32 inner = _digest();
        hook.setHook(
            address(factory), abi.encodeCall(factory.createVault, (terms, rules, _sign(OWNER_KEY, inner), _noFunding()))
        );
        terms = outer;
        MandateVault created = _create(_pull(BUDGET));
        assertTrue(hook.answered());
        assertEq(created.perTxCap(), PER_TX);
        assertEq(MandateVault(factory.predictVault(inner)).perTxCap(), 7);
        assertEq(factory.vaultCode().length, 0);
    }

    function test_pitfall_09__funding_from_outside_in_the_middle_of_an_action__reverts() public {
        // The factory's own way in is guarded by the vault as every other.
        terms.nonce = 6;
        vault = _createEmpty();
        Funding memory funding = _authorizedFunding(OWNER_KEY, 5);
        hook.setHook(address(factory), abi.encodeCall(factory.createVault, (terms, rules, "", funding)));
        vm.prank(owner);
        vault.deposit(1);
        assertFalse(hook.answered());
        assertEq(hook.answer(), reentrant);
    }

    function test_pitfall_09__every_office_from_the_middle_of_an_action__is_refused() public {
        bytes[19] memory entries = [
            abi.encodeCall(factory.proposeKeeper, (thief)),
            abi.encodeCall(factory.proposeGuard, (thief)),
            abi.encodeCall(factory.acceptKeeper, ()),
            abi.encodeCall(factory.acceptGuard, ()),
            abi.encodeCall(factory.cancelKeeperProposal, ()),
            abi.encodeCall(factory.cancelGuardProposal, ()),
            abi.encodeCall(factory.pause, ()),
            abi.encodeCall(factory.unpause, ()),
            abi.encodeCall(factory.listAdapter, (address(hostile))),
            abi.encodeCall(factory.delistAdapter, (address(adapter))),
            abi.encodeCall(factory.cancelTerms, (terms)),
            abi.encodeCall(factory.grantRole, (factory.PAUSER_ROLE(), thief)),
            abi.encodeCall(factory.revokeRole, (factory.PAUSER_ROLE(), pauser)),
            abi.encodeCall(factory.renounceRole, (factory.PAUSER_ROLE(), pauser)),
            abi.encodeCall(factory.beginDefaultAdminTransfer, (thief)),
            abi.encodeCall(factory.acceptDefaultAdminTransfer, ()),
            abi.encodeCall(factory.cancelDefaultAdminTransfer, ()),
            abi.encodeCall(factory.changeDefaultAdminDelay, (0)),
            abi.encodeCall(factory.rollbackDefaultAdminDelay, ())
        ];
        for (uint256 i; i < entries.length; ++i) {
            hook.setHook(address(factory), entries[i]);
            _execute(vault, _take(1));
            assertFalse(hook.answered());
        }
    }
}
