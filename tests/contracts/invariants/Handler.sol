// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./AgentHandler.sol";
import "./OfficeHandler.sol";

/// @title Handler
/// @notice All actors together: besides owner, agent and offices the venues in transactions of their own, people
/// who pass by, and a thief who tries every door.
contract Handler is AgentHandler, OfficeHandler {
    /// @dev All fields of the terms.
    uint256 private constant FORGED_FIELDS = 17;

    /// @notice Deploys everything and opens the first vault.
    function build() external {
        setUp();
        keeperOffice.holder = keeper;
        guardOffice.holder = guard;
    }

    /// @notice What the fuzzer may call. Time, agent and venues come oftener than ends.
    function actions() external pure returns (bytes4[] memory list) {
        list = new bytes4[](38);
        list[0] = this.agentExecutes.selector;
        list[1] = this.agentExecutes.selector;
        list[2] = this.agentExecutes.selector;
        list[3] = this.agentExecutesBatch.selector;
        list[4] = this.agentExecutesBatch.selector;
        list[5] = this.agentTrades.selector;
        list[6] = this.agentTrades.selector;
        list[7] = this.agentStrays.selector;
        list[8] = this.agentStops.selector;
        list[9] = this.ownerOpens.selector;
        list[10] = this.ownerDeposits.selector;
        list[11] = this.ownerDeposits.selector;
        list[12] = this.ownerWithdraws.selector;
        list[13] = this.ownerSweeps.selector;
        list[14] = this.ownerSetsAgent.selector;
        list[15] = this.ownerRemovesAgent.selector;
        list[16] = this.ownerStops.selector;
        list[17] = this.ownerUnwinds.selector;
        list[18] = this.ownerSettles.selector;
        list[19] = this.ownerCancels.selector;
        list[20] = this.keeperMarks.selector;
        list[21] = this.keeperStops.selector;
        list[22] = this.graceIsTried.selector;
        list[23] = this.keeperSettles.selector;
        list[24] = this.payeeMoves.selector;
        list[25] = this.officersAct.selector;
        list[26] = this.officeChanges.selector;
        list[27] = this.timePasses.selector;
        list[28] = this.timePasses.selector;
        list[29] = this.venueActs.selector;
        list[30] = this.anyoneActs.selector;
        list[31] = this.thiefTries.selector;
        list[32] = this.ownerOpens.selector;
        list[33] = this.ownerOpens.selector;
        list[34] = this.agentExhausts.selector;
        list[35] = this.officesAreTried.selector;
        list[36] = this.ownerReleases.selector;
        list[37] = this.agentTrades.selector;
    }

    /// @notice Every way through which something can succeed; a sequence that is worth its name passes each.
    function doors() external pure returns (bytes32[] memory list) {
        list = new bytes32[](67);
        list[0] = "execute";
        list[1] = "executeBatch";
        list[2] = "buy";
        list[3] = "sell";
        list[4] = "stray refused";
        list[5] = "agent stop";
        list[6] = "open";
        list[7] = "open again";
        list[8] = "late funding";
        list[9] = "deposit";
        list[10] = "deposit by authorization";
        list[11] = "withdraw";
        list[12] = "withdraw while funding";
        list[13] = "sweep";
        list[14] = "set agent";
        list[15] = "remove agent";
        list[16] = "owner stop";
        list[17] = "owner unwind";
        list[18] = "owner settle";
        list[19] = "cancel terms";
        list[20] = "fee";
        list[21] = "mark";
        list[22] = "mark at the floor";
        list[23] = "keeper's stop refused";
        list[24] = "grace tried";
        list[25] = "keeper settle";
        list[26] = "set payee";
        list[27] = "pause";
        list[28] = "unpause";
        list[29] = "pauser removes agent";
        list[30] = "list";
        list[31] = "delist";
        list[32] = "propose";
        list[33] = "cancel proposal";
        list[34] = "accept";
        list[35] = "accept refused";
        list[36] = "time";
        list[37] = "late pull";
        list[38] = "late payment";
        list[39] = "late proceeds";
        list[40] = "lie";
        list[41] = "price";
        list[42] = "donate";
        list[43] = "airdrop";
        list[44] = "stop line";
        list[45] = "anyone settles";
        list[46] = "thief refused";
        list[47] = "forgery refused";
        list[48] = "exhausted";
        list[49] = "offices tried";
        list[59] = "relay";
        list[60] = "mark after a stop";
        list[61] = "lend";
        list[62] = "lend back";
        list[63] = "swap in";
        list[64] = "swap back";
        list[65] = "markets";
        list[66] = "release";
        // The tricks of the venue that an action survived: all but Fail.
        for (uint256 i; i < 9; ++i) {
            list[50 + i] = _trickName(i);
        }
    }

    // ------------------------------------------------------------------ the venues, uncalled

    /// @notice Pulls without a call, pays back late, lies about worth, moves the price and the markets.
    function venueActs(uint256 at, uint256 which, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        address vault = address(g.vault);
        MaliciousVenue who = amount % 2 == 0 ? valued : unvalued;
        if (which % 5 == 4) {
            _moveMarkets(which >> 8, amount);
            _tally("markets", true);
        } else if (which % 6 == 0) {
            who.pullLater(vault, _bound(amount, 1, BUDGET));
            _tally("late pull", true);
        } else if (which % 6 == 5) {
            uint256 brought = _bound(amount, 1, PER_TX);
            (bool passed,) = address(relay).call(abi.encodeCall(relay.pushProceeds, (vault, brought)));
            _keepLogs(passed);
            if (passed) _bookGain(g, address(unvalued), 0, brought);
            _tally("relay", passed);
        } else if (which % 6 == 1) {
            _payLate(g, who, _bound(amount, 1, PER_TX));
        } else if (which % 6 == 2) {
            uint256 paid = _bound(amount, 1, PER_TX);
            (bool passed,) = address(who).call(abi.encodeCall(who.payProceeds, (vault, paid)));
            _keepLogs(passed);
            // The valued one stays the mandate's own adapter even when it is off the list.
            if (passed && who == unvalued) ++trespasses;
            if (passed) g.received += paid;
            _tally("late proceeds", passed);
        } else if (which % 6 == 3) {
            who.claimValue(vault, amount % 8 == 0 ? type(uint128).max : amount % PER_TX);
            _tally("lie", true);
        } else {
            (bool passed,) =
                _as(operator, address(venue), abi.encodeCall(venue.setPrice, (_bound(amount, 1, 10 * USD))));
            _tally("price", passed);
        }
    }

    function _payLate(Ghost storage g, MaliciousVenue who, uint256 amount) private {
        who.payLate(address(g.vault), amount);
        g.donated += amount;
        _tally("late payment", true);
    }

    // ------------------------------------------------------------------ whoever passes by

    /// @notice Donates, airdrops, enforces the stop line, settles when the time has come.
    function anyoneActs(uint256 at, uint256 which, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        address vault = address(g.vault);
        if (which % 8 == 0) {
            amount = _bound(amount, 1, BUDGET);
            usdc.mint(vault, amount);
            g.donated += amount;
            _tally("donate", true);
        } else if (which % 8 == 1) {
            airdrop.mint(vault, amount % BUDGET);
            _tally("airdrop", true);
        } else if (which % 8 > 4) {
            (bool passed,) = _as(stranger, vault, abi.encodeCall(g.vault.enforceStopLine, ()));
            _tally("stop line", passed);
            if (passed && g.status != Status.Working) ++regressions;
        } else {
            bool early = clock < docs[g.doc].endsAt + 1 days;
            uint256 passes = done["anyone settles"];
            _settle(thief, g, "anyone settles");
            if (early && done["anyone settles"] != passes) ++trespasses;
        }
    }

    // ------------------------------------------------------------------ the thief

    /// @notice Tries every entry of a vault and of the factory, and forges documents.
    function thiefTries(uint256 at, uint256 which, uint256 amount) external step {
        address vault = address(_vaultAt(at).vault);
        if (which % 2 == 0) return _forge(which >> 1, amount);
        bytes[] memory entries = _vaultEntries(address(unvalued));
        for (uint256 i; i < 14; ++i) {
            (bool passed,) = _as(thief, vault, entries[i]);
            if (passed) ++trespasses;
        }
        entries = _factoryEntries(address(valued));
        for (uint256 i; i < entries.length; ++i) {
            (bool passed,) = _as(thief, address(factory), entries[i]);
            if (passed) ++trespasses;
        }
        _tally("thief refused", true);
    }

    /// @dev A sound document that differs in one field from the signed one, another chain, or another factory. It must be
    /// the signature that is refused, and nothing before it.
    function _forge(uint256 field, uint256 amount) private {
        uint256 doc = amount % DOCS;
        MandateTerms memory forged = docs[doc];
        Rule[] memory list = rules;
        bytes memory signature = _sign(_keyOf(doc), factory.termsDigest(forged));
        field %= FORGED_FIELDS + 2;
        MandateVaultFactory at = factory;
        if (field == FORGED_FIELDS) at = twin;
        else if (field > FORGED_FIELDS) vm.chainId(84532 + amount % 1_000);
        else list = _change(forged, field);
        // What is over, paused or unlisted is refused before the signature is looked at.
        bool isSound = clock < forged.endsAt && !factory.paused() && factory.isAdapter(address(valued)) && at == factory;
        (bool passed, bytes memory answer) =
            _as(thief, address(at), abi.encodeCall(at.createVault, (forged, list, signature, _noFunding())));
        vm.chainId(31337);
        bytes memory refusal = abi.encodeWithSelector(ErrorsLib.BadSignature.selector, forged.owner);
        if (passed || (isSound && keccak256(answer) != keccak256(refusal))) ++forgeries;
        _tally("forgery refused", isSound && !passed);
    }

    /// @dev Changes one field and keeps the document sound; answers the rules that belong to it.
    function _change(MandateTerms memory forged, uint256 field) private view returns (Rule[] memory list) {
        list = rules;
        if (field == 0) forged.publicId = "m_other";
        if (field == 1) forged.agent = thief;
        if (field == 2) forged.perTxCap -= 1;
        if (field == 3) forged.dailyCap -= 1;
        if (field == 4) forged.horizonDays += 1;
        if (field == 5) forged.endsAt = uint64(clock + 400 days);
        if (field == 6) forged.agentFeeBps = 9_999;
        if (field == 7) forged.approvalAbove += 1;
        if (field == 8) forged.onFloor = 1;
        if (field == 9) forged.guardTargetsHash = 0;
        if (field == 10) forged.issuedAt += 1;
        if (field == 11) forged.nonce += 1_000;
        if (field == 12) forged.owner = forged.owner == neighbour ? owner : neighbour;
        if (field == 13) forged.budgetUsdc += 10_000;
        if (field == 14) forged.stopFloorBps = 400;
        // The line follows from budget and share, so it alone cannot differ in a sound document: with the share it does.
        if (field == 15) forged.stopFloorBps = 300;
        if (field >= 13 && field <= 15) {
            forged.stopFloor = forged.budgetUsdc - forged.budgetUsdc * forged.stopFloorBps / 10_000;
        }
        if (field == 16) {
            list = new Rule[](1);
            list[0] = rules[0];
            forged.allowedTargetsHash = keccak256(abi.encode(list));
        }
    }
}
