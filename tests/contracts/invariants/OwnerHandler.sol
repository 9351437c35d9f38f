// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Stage.sol";

/// @title OwnerHandler
/// @notice Three owners: they open vaults, pay in, choose agents, stop, unwind, settle and take their money home.
abstract contract OwnerHandler is Stage {
    /// @notice Opens a vault: by the owner, by anyone with the signature, or by the money's own signature.
    function ownerOpens(uint256 which, uint256 how) external step {
        uint256 doc = which % DOCS;
        MandateTerms memory document = docs[doc];
        bytes32 digest = factory.termsDigest(document);
        bytes memory signature = how % 3 == 0 ? bytes("") : _sign(_keyOf(doc), digest);
        Funding memory funding =
            how % 3 == 2 ? _fundingFor(doc, digest, document.budgetUsdc / (1 + (how >> 8) % 4)) : _noFunding();
        address sender = how % 3 == 0 ? document.owner : stranger;
        (bool passed, bytes memory answer) =
            _as(sender, address(factory), abi.encodeCall(factory.createVault, (document, rules, signature, funding)));
        if (!passed) {
            // Money above the rest of the budget, or after the end, is refused; without money nothing is.
            if (isOpened[doc] && !factory.paused() && funding.amount == 0) ++wrongRefusals;
            return;
        }
        address vault = abi.decode(answer, (address));
        if (isCancelled[doc]) ++strayVaults;
        _tally(isOpened[doc] ? bytes32("open again") : bytes32("open"), true);
        if (!isOpened[doc]) {
            _bookVault(doc, vault);
            if (funding.amount != 0) _bookDeposit(ghosts.length - 1, funding.amount);
        } else if (funding.amount != 0) {
            _bookLateFunding(doc, funding.amount);
        }
    }

    /// @dev An authorization also funds a vault that somebody else opened, when it is whole and unused.
    function _bookLateFunding(uint256 doc, uint256 amount) private {
        for (uint256 i; i < ghosts.length; ++i) {
            if (ghosts[i].doc != doc) continue;
            if (ghosts[i].vault.totals().deposited == ghosts[i].deposited) return;
            _bookDeposit(i, amount);
            _tally("late funding", true);
        }
    }

    function _fundingFor(uint256 doc, bytes32 digest, uint256 amount) private view returns (Funding memory) {
        address to = factory.predictVault(digest);
        return
            Funding(
                amount, 0, block.timestamp + 1 hours, _authorization(_keyOf(doc), docs[doc].owner, to, amount, digest)
            );
    }

    /// @notice Pays in, by allowance or by authorization, up to the rest of the budget and one above it.
    function ownerDeposits(uint256 at, uint256 amount, uint256 how) external step {
        bool byAuthorization = how % 2 == 0;
        uint256 index = at % ghosts.length;
        Ghost storage g = ghosts[index];
        MandateTerms memory document = docs[g.doc];
        uint256 lacking = document.budgetUsdc - g.deposited;
        amount = amount % 2 == 0 ? lacking : _bound(amount, 1, lacking + 1);
        bytes memory data = abi.encodeCall(g.vault.deposit, (amount));
        if (byAuthorization) {
            bytes32 salt = bytes32(clock + done["deposit"]);
            bytes32 nonce = g.vault.depositNonce(document.owner, amount, salt);
            bytes memory signature = _authorization(_keyOf(g.doc), document.owner, address(g.vault), amount, nonce);
            data = abi.encodeCall(
                g.vault.depositWithAuthorization,
                (document.owner, amount, 0, block.timestamp + 1 hours, salt, signature)
            );
        }
        (bool passed,) = _as(byAuthorization ? stranger : document.owner, address(g.vault), data);
        _tally(byAuthorization ? bytes32("deposit by authorization") : bytes32("deposit"), passed);
        if (passed) _bookDeposit(index, amount);
    }

    /// @notice Takes money home: a part, all there is, or one too much.
    function ownerWithdraws(uint256 at, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        address vault = address(g.vault);
        uint256 free = usdc.balanceOf(vault) - g.vault.feeOwed();
        amount = amount % 3 == 0 ? free : _bound(amount, 1, free + 1);
        bool wasFunding = g.status == Status.Funding;
        bool isOpen = g.status != Status.Working || clock >= docs[g.doc].endsAt + 1 days;
        address home = docs[g.doc].owner;
        (bool passed,) = _as(home, vault, abi.encodeCall(g.vault.withdraw, (address(usdc), home, amount)));
        // Locked while Working until the grace is over; then all but the fee can go home.
        if (passed && !isOpen) ++trespasses;
        if (passed != (isOpen && amount != 0 && amount <= free)) ++wrongRefusals;
        _tally(wasFunding ? bytes32("withdraw while funding") : bytes32("withdraw"), passed);
        if (passed) _bookWithdrawal(g, amount, wasFunding);
    }

    /// @notice Takes an airdropped token home.
    function ownerSweeps(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        uint256 balance = airdrop.balanceOf(address(g.vault));
        address home = docs[g.doc].owner;
        (bool passed,) =
            _as(home, address(g.vault), abi.encodeCall(g.vault.withdraw, (address(airdrop), home, balance)));
        _tally("sweep", passed);
    }

    /// @notice Sets the agent, back or anew.
    function ownerSetsAgent(uint256 at, uint256 which) external step {
        Ghost storage g = _vaultAt(at);
        address chosen = which % 2 == 0 ? operator : agent;
        (bool passed,) = _as(docs[g.doc].owner, address(g.vault), abi.encodeCall(g.vault.setAgent, (chosen)));
        _tally("set agent", passed);
        if (!passed) return;
        g.agent = chosen;
    }

    /// @notice Removes the agent.
    function ownerRemovesAgent(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        (bool passed,) = _as(docs[g.doc].owner, address(g.vault), abi.encodeCall(g.vault.removeAgent, ()));
        _tally("remove agent", passed);
        if (passed) g.agent = address(0);
    }

    /// @notice Stops, seldom, so that vaults live long enough to be abused.
    function ownerStops(uint256 at, uint256 seldom) external step {
        Ghost storage g = _vaultAt(at);
        if (seldom % 8 != 0) return;
        (bool passed,) = _as(docs[g.doc].owner, address(g.vault), abi.encodeCall(g.vault.stop, ("owner_stop")));
        _tally("owner stop", passed);
    }

    /// @notice Unwinds at a hostile venue or at an honest one.
    function ownerUnwinds(uint256 at, uint256 trick, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        _unwind(docs[g.doc].owner, at % ghosts.length, trick, amount, "owner unwind");
    }

    /// @notice Takes what an adapter holds to the vault, past its venue, and home: once the mandate is over, and not before.
    function ownerReleases(uint256 at, uint256 which) external step {
        Ghost storage g = _vaultAt(at);
        address vault = address(g.vault);
        address home = docs[g.doc].owner;
        IAdapter where = _honest(1 + which % 2);
        IERC20 held = where == lending ? IERC20(lender) : IERC20(token);
        uint256 units = where.positionOf(vault);
        uint256 before = held.balanceOf(home);
        (bool passed,) = _as(home, vault, abi.encodeCall(g.vault.unwind, (_batch(_releaseOf(where)))));
        if (passed && g.status == Status.Working) ++trespasses;
        if (passed != (units != 0 && g.status > Status.Working)) ++wrongRefusals;
        _tally("release", passed);
        if (!passed) return;
        (passed,) = _as(home, vault, abi.encodeCall(g.vault.withdraw, (address(held), home, units)));
        if (!passed || held.balanceOf(home) != before + units) ++wrongRefusals;
    }

    /// @notice Settles after a stop.
    function ownerSettles(uint256 at) external step {
        Ghost storage g = _vaultAt(at);
        bool early = g.stoppedAt == 0 && clock < docs[g.doc].endsAt + 1 days;
        uint256 passes = done["owner settle"];
        _settle(docs[g.doc].owner, g, "owner settle");
        if (early && done["owner settle"] != passes) ++trespasses;
    }

    /// @notice Withdraws terms that were signed: they must never become a vault.
    function ownerCancels(uint256 which, uint256 seldom) external step {
        uint256 doc = which % DOCS;
        if (seldom % 8 != 0) return;
        (bool passed,) = _as(docs[doc].owner, address(factory), abi.encodeCall(factory.cancelTerms, (docs[doc])));
        if (passed && isOpened[doc]) ++strayVaults;
        if (passed) isCancelled[doc] = true;
        _tally("cancel terms", passed);
    }

    // ------------------------------------------------------------------ shared with the keeper

    function _unwind(address who, uint256 index, uint256 trick, uint256 amount, bytes32 name) internal {
        Ghost storage g = ghosts[index];
        Call memory call_ = _unwinding(address(g.vault), trick, amount);
        uint256 before = usdc.balanceOf(address(g.vault));
        uint256 outflow = ledger.outflow(address(g.vault));
        (bool passed,) = _as(who, address(g.vault), abi.encodeCall(g.vault.unwind, (_batch(call_))));
        _tally(name, passed);
        if (!passed) return;
        // An unwind brings money in and lets none out, not for a moment.
        if (ledger.outflow(address(g.vault)) != outflow) ++trespasses;
        _bookGain(g, call_.target, 0, usdc.balanceOf(address(g.vault)) - before);
    }

    /// @dev An exit at a hostile venue, or at an honest one that holds something for the vault.
    function _unwinding(address vault, uint256 trick, uint256 amount) private view returns (Call memory) {
        IAdapter where = _honest(amount >> 16);
        uint256 held = where.positionOf(vault);
        if (amount % 3 == 0 && held != 0) return _exit(where, _bound(amount, 1, held));
        MaliciousVenue at = amount % 2 == 0 ? valued : unvalued;
        return Call(address(at), 0, abi.encodeCall(at.exit, (_trickOf(trick), amount % (2 * PER_TX))));
    }

    function _settle(address who, Ghost storage g, bytes32 name) internal {
        uint256 before = usdc.balanceOf(address(g.vault));
        (bool passed,) = _as(who, address(g.vault), abi.encodeCall(g.vault.settle, ()));
        if (passed) g.feePaid += before - usdc.balanceOf(address(g.vault));
        _tally(name, passed);
        _tally("fee", passed && before != usdc.balanceOf(address(g.vault)));
    }
}
