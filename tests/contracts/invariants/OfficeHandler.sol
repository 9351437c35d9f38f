// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./OwnerHandler.sol";

/// @notice An office as the test books it: who holds it, who was named, and when.
struct Office {
    address holder;
    address named;
    uint256 namedAt;
}

/// @title OfficeHandler
/// @notice Keeper, payee, pauser, admin and keeper admin, each with all that the office allows, and beyond.
abstract contract OfficeHandler is OwnerHandler {
    Office internal keeperOffice;
    Office internal guardOffice;
    uint256 public earlyHandovers;

    // ------------------------------------------------------------------ the keeper

    /// @notice Marks: what is logged is what the vault answers, and at the floor alone a working mandate stops.
    function keeperMarks(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        bool isOver = g.stoppedAt != 0;
        (uint256 worth, uint256 unvaluedOut, bool isKnown) = _worthOf(g);
        (bool passed,) = _as(factory.keeper(), address(g.vault), abi.encodeCall(g.vault.mark, ()));
        bool atFloor = worth <= docs[g.doc].stopFloor;
        _tally(isOver ? bytes32("mark after a stop") : atFloor ? bytes32("mark at the floor") : bytes32("mark"), passed);
        if (!passed) return;
        ++g.marks;
        if (!isKnown) ++regressions;
        Replay storage r = replays[address(g.vault)];
        if (r.lastMark != worth || r.markedOut != unvaluedOut) ++regressions;
        if (!isOver && atFloor != (g.vault.status() == Status.Stopped)) ++regressions;
        if (!isOver && clock >= docs[g.doc].endsAt + 1 days) ++regressions;
    }

    function _worthOf(Ghost storage g) private view returns (uint256 worth, uint256 unvaluedOut, bool isKnown) {
        try g.vault.worth() returns (uint256 worth_, uint256 unvaluedOut_) {
            return (worth_, unvaluedOut_, true);
        } catch {}
    }

    /// @notice Tries to stop: the keeper has no word of its own.
    function keeperStops(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        if (factory.keeper() == g.agent || factory.keeper() == docs[g.doc].owner) return;
        (bool passed,) = _as(factory.keeper(), address(g.vault), abi.encodeCall(g.vault.stop, ("keeper")));
        if (passed) ++trespasses;
        _tally("keeper's stop refused", !passed);
    }

    /// @notice Settles; before the stop or the end it is refused.
    function keeperSettles(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        bool early = g.stoppedAt == 0 && clock < docs[g.doc].endsAt;
        uint256 passes = done["keeper settle"];
        _settle(factory.keeper(), g, "keeper settle");
        if (early && done["keeper settle"] != passes) ++trespasses;
    }

    // ------------------------------------------------------------------ the payee

    /// @notice Moves the right to the fee.
    function payeeMoves(uint256 at, uint256 to) external step {
        Ghost storage g = _vaultAt(at);
        address heir = to % 2 == 0 ? agent : operator;
        (bool passed,) = _as(g.payee, address(g.vault), abi.encodeCall(g.vault.setPayee, (heir)));
        _tally("set payee", passed);
        if (passed) g.payee = heir;
    }

    // ------------------------------------------------------------------ pauser and admin

    /// @notice Pauses, ends the pause, lists and delists the hostile adapter, removes agents.
    function officersAct(uint256 which, uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        bool passed;
        if (which % 6 == 0) {
            (passed,) = _as(pauser, address(factory), abi.encodeCall(factory.pause, ()));
            _tally("pause", passed);
        } else if (which % 6 <= 2) {
            (passed,) = _as(admin, address(factory), abi.encodeCall(factory.unpause, ()));
            _tally("unpause", passed);
        } else if (which % 6 == 3) {
            (passed,) = _as(pauser, address(g.vault), abi.encodeCall(g.vault.removeAgent, ()));
            _tally("pauser removes agent", passed);
            if (passed) g.agent = address(0);
        } else {
            bytes memory data = which % 6 == 4
                ? abi.encodeCall(factory.delistAdapter, (address(valued)))
                : abi.encodeCall(factory.listAdapter, (address(valued)));
            (passed,) = _as(admin, address(factory), data);
            _tally(which % 6 == 4 ? bytes32("delist") : bytes32("list"), passed);
        }
    }

    /// @notice Proposes, accepts and cancels keepers and guards, at the edges of the times.
    function officeChanges(uint256 which, uint256 whose, uint256 who) external step {
        (bool ofKeeper, bool another) = (whose % 2 == 0, who % 2 == 0);
        Office storage office = ofKeeper ? keeperOffice : guardOffice;
        address named = another ? stranger : keeper;
        if (which % 4 == 0) {
            bytes memory data = ofKeeper
                ? abi.encodeCall(factory.proposeKeeper, (named))
                : abi.encodeCall(factory.proposeGuard, (named));
            (bool passed,) = _as(keeperAdmin, address(factory), data);
            if (passed && office.namedAt != 0) ++earlyHandovers;
            if (passed) (office.named, office.namedAt) = (named, clock);
            _tally("propose", passed);
        } else if (which % 4 == 1) {
            bytes memory data = ofKeeper
                ? abi.encodeCall(factory.cancelKeeperProposal, ())
                : abi.encodeCall(factory.cancelGuardProposal, ());
            (bool passed,) = _as(another ? admin : pauser, address(factory), data);
            if (passed) (office.named, office.namedAt) = (address(0), 0);
            _tally("cancel proposal", passed);
        } else {
            if (which % 8 < 4 && office.namedAt != 0) _travel(office.namedAt + 48 hours);
            _accept(office, ofKeeper, another && office.named != address(0) ? office.named : named);
        }
    }

    function _accept(Office storage office, bool ofKeeper, address who) private {
        bytes memory data =
            ofKeeper ? abi.encodeCall(factory.acceptKeeper, ()) : abi.encodeCall(factory.acceptGuard, ());
        (bool passed,) = _as(who, address(factory), data);
        bool due = office.namedAt != 0 && who == office.named && clock >= office.namedAt + 48 hours
            && clock <= office.namedAt + 9 days;
        if (passed != due) ++earlyHandovers;
        _tally(passed ? bytes32("accept") : bytes32("accept refused"), true);
        if (passed) (office.holder, office.named, office.namedAt) = (who, address(0), 0);
    }

    // ------------------------------------------------------------------ time

    /// @notice Lets time pass: seconds, hours, or to one second before, at or after an edge.
    function timePasses(uint256 at, uint256 how, uint256 amount) external step {
        uint256 index = at % ghosts.length;
        Ghost storage g = ghosts[index];
        uint256 around = amount % 3;
        (,,, uint256 freesAt) = g.vault.remaining();
        if (how % 32 == 0) _travel(docs[g.doc].endsAt + around - 1);
        else if (how % 32 < 4) _travel(docs[g.doc].endsAt + 1 days + around - 1);
        else if (how % 32 < 10 && freesAt != 0) _travel(freesAt + around - 1);
        else if (how % 32 < 16) _travel(clock + _bound(amount, 1, 18 hours));
        else _travel(clock + _bound(amount, 0, 90));
        _tally("time", true);
    }

    // ------------------------------------------------------------------ what must not be, tried and undone

    /// @notice Goes into the grace of a mandate that is not over, tries every way to cut it short, and comes back.
    /// @dev A second key of the owner's is made the agent in the last second before the end, where there is still time.
    function graceIsTried(uint256 at, uint256 second) external step {
        Ghost storage g = _vaultAt(at);
        uint64 endsAt = docs[g.doc].endsAt;
        if (g.status > Status.Working || clock >= endsAt + 1 days) return;
        uint256 snapshot = vm.snapshotState();
        address home = docs[g.doc].owner;
        if (clock < endsAt) {
            vm.warp(endsAt - 1);
            _as(home, address(g.vault), abi.encodeCall(g.vault.setAgent, (operator)));
        }
        vm.warp(_bound(second, clock < endsAt ? endsAt : clock, endsAt + 1 days - 1));
        bytes memory ended = abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, endsAt);
        bytes memory grace = abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, endsAt + 1 days);
        bytes memory noAgent = abi.encodeWithSelector(ErrorsLib.NoAgent.selector);
        address second_ = g.vault.agent();
        uint256 breaches = _refusedWith(home, g, abi.encodeCall(g.vault.setAgent, (operator)), ended);
        breaches += _refusedWith(home, g, abi.encodeCall(g.vault.stop, ("grace")), grace);
        breaches += _refusedWith(
            second_, g, abi.encodeCall(g.vault.stop, ("grace")), second_ == address(0) ? noAgent : grace
        );
        if (g.status == Status.Working) {
            breaches += _refusedWith(stranger, g, abi.encodeCall(g.vault.enforceStopLine, ()), ended);
            bytes memory locked =
                abi.encodeWithSelector(ErrorsLib.WithdrawLocked.selector, bytes32("settle_grace"), endsAt + 1 days);
            breaches += _refusedWith(home, g, abi.encodeCall(g.vault.withdraw, (address(usdc), home, 1)), locked);
            bytes memory tooEarly = abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, endsAt + 1 days);
            breaches += _refusedWith(home, g, abi.encodeCall(g.vault.settle, ()), tooEarly);
        }
        vm.revertToState(snapshot);
        trespasses += breaches;
        _tally("grace tried", true);
    }

    /// @notice What no office may do: say the contract's word, be nobody, unwind as the keeper after a stop.
    function officesAreTried(uint256 at, uint256 trick, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        uint256 snapshot = vm.snapshotState();
        uint256 breaches;
        if (g.status <= Status.Working) {
            bytes memory word = abi.encodeWithSelector(ErrorsLib.ReservedReason.selector, bytes32("stop_line"));
            breaches += _refusedWith(docs[g.doc].owner, g, abi.encodeCall(g.vault.stop, ("stop_line")), word);
            _as(docs[g.doc].owner, address(g.vault), abi.encodeCall(g.vault.removeAgent, ()));
            bytes memory nobody = abi.encodeWithSelector(ErrorsLib.NoAgent.selector);
            breaches += _refusedWith(address(0), g, abi.encodeCall(g.vault.stop, ("nobody")), nobody);
            // The keeper's office may have come to the stranger; then it is the former keeper that has none.
            address outsider = factory.keeper() == stranger ? keeper : stranger;
            breaches += _refusedWith(outsider, g, abi.encodeCall(g.vault.stop, ("nobody")), nobody);
            _as(docs[g.doc].owner, address(g.vault), abi.encodeCall(g.vault.stop, ("owner")));
        }
        Call memory exit =
            Call(address(valued), 0, abi.encodeCall(MaliciousVenue.exit, (_trickOf(trick), amount % PER_TX)));
        bytes memory notOwner = abi.encodeWithSelector(ErrorsLib.NotOwner.selector, factory.keeper());
        // In the grace a vault that never had its budget is not stopped by the owner, and refuses by its status.
        if (g.vault.status() != Status.Funding) {
            breaches += _refusedWith(factory.keeper(), g, abi.encodeCall(g.vault.unwind, (_batch(exit))), notOwner);
        }
        vm.revertToState(snapshot);
        trespasses += breaches;
        _tally("offices tried", true);
    }

    function _refusedWith(address who, Ghost storage g, bytes memory data, bytes memory refusal)
        private
        returns (uint256 breaches)
    {
        (bool passed, bytes memory answer) = _as(who, address(g.vault), data);
        return passed || keccak256(answer) != keccak256(refusal) ? 1 : 0;
    }

    function offices() external view returns (Office memory, Office memory) {
        return (keeperOffice, guardOffice);
    }
}
