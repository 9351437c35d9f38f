// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice Pitfall 19 and all bad input: a document that could not be kept is refused at creation, by name.
contract DocumentAttacksTest is Test {
    function _expectRefused(bytes memory reason) private {
        _expectRevert(reason);
        vm.prank(owner);
        factory.createVault(terms, rules, "", _noFunding());
    }

    function _badTerms(bytes32 field, uint256 value, uint256 bound) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.BadTerms.selector, field, value, bound);
    }

    /// @dev Rules as given, not sorted.
    function _setRules(Rule[] memory list) private {
        delete rules;
        for (uint256 i; i < list.length; ++i) {
            rules.push(list[i]);
        }
        terms.allowedTargetsHash = keccak256(abi.encode(rules));
    }

    function _rulesOf(uint256 count) private view returns (Rule[] memory list) {
        list = new Rule[](count);
        for (uint256 i; i < count; ++i) {
            list[i] = Rule(address(hostile), bytes4(uint32(i)), NO_PIN, KIND_EXIT);
        }
    }

    // ------------------------------------------------------------------ 19 rules

    function test_pitfall_19__no_rule_and_thirty_three__are_refused() public {
        _setRules(_rulesOf(0));
        _expectRefused(abi.encodeWithSelector(ErrorsLib.BadRuleCount.selector, uint256(0), uint256(32)));
        _setRules(_rulesOf(33));
        _expectRefused(abi.encodeWithSelector(ErrorsLib.BadRuleCount.selector, uint256(33), uint256(32)));
    }

    function test_pitfall_19__thirty_two_rules__act_within_a_block_many_times_over() public {
        Rule[] memory list = _rulesOf(32);
        list[31].selector = HostileVenue.give.selector;
        _setRules(list);
        MandateVault vault = _createWorking();
        vm.prank(agent);
        // Fifty actions fit into a million gas each, whatever rule is the last.
        vault.execute{gas: 1_000_000}(_give(1));
        assertEq(vault.totals().received, 1);
    }

    function test_pitfall_19__duplicate_rule__is_refused_though_it_says_something_else() public {
        Rule[] memory list = _rulesOf(2);
        list[1].selector = list[0].selector;
        list[1].recipientWord = 0;
        _setRules(list);
        _expectRefused(abi.encodeWithSelector(ErrorsLib.RulesNotSorted.selector, uint256(1)));
    }

    function test_pitfall_19__unsorted_rules__are_refused_by_selector_and_by_target() public {
        Rule[] memory list = _rulesOf(2);
        (list[0], list[1]) = (list[1], list[0]);
        _setRules(list);
        _expectRefused(abi.encodeWithSelector(ErrorsLib.RulesNotSorted.selector, uint256(1)));

        (address low, address high) =
            address(hostile) < address(relay) ? (address(hostile), address(relay)) : (address(relay), address(hostile));
        (list[0].target, list[1].target) = (high, low);
        _setRules(list);
        _expectRefused(abi.encodeWithSelector(ErrorsLib.RulesNotSorted.selector, uint256(1)));
    }

    function test_pitfall_11__targets_that_must_never_be_one__are_refused_by_name() public {
        vm.etch(0x000000000022D473030F116dDEE9F6B43aC78BA3, hex"00");
        address[4] memory targets = [address(usdc), address(factory), 0x000000000022D473030F116dDEE9F6B43aC78BA3, thief];
        for (uint256 i; i < targets.length; ++i) {
            Rule[] memory list = _rulesOf(1);
            list[0].target = targets[i];
            list[0].selector = 0x01020304;
            _setRules(list);
            _expectRefused(abi.encodeWithSelector(ErrorsLib.ForbiddenTarget.selector, uint256(0), targets[i]));
        }
    }

    function test_pitfall_11__kinds_that_need_the_list__need_it() public {
        for (uint8 kind = KIND_VALUED_SPEND; kind <= KIND_COST; ++kind) {
            Rule[] memory list = _rulesOf(2);
            list[1].kind = kind;
            _setRules(list);
            _expectRefused(abi.encodeWithSelector(ErrorsLib.AdapterNotListed.selector, address(hostile)));
        }
        Rule[] memory unknown = _rulesOf(2);
        unknown[1].kind = KIND_COST + 1;
        _setRules(unknown);
        _expectRefused(abi.encodeWithSelector(ErrorsLib.UnknownKind.selector, uint256(1), uint8(4)));
    }

    // ------------------------------------------------------------------ zero, too much, too late

    function test_bad_input__zero_amounts__are_refused_by_field() public {
        MandateTerms memory sound = terms;
        terms.budgetUsdc = 0;
        _expectRefused(_badTerms("budgetUsdc", 0, 2 ** 53 - 1));
        terms = sound;
        terms.perTxCap = 0;
        _expectRefused(_badTerms("perTxCap", 0, BUDGET));
        terms = sound;
        terms.dailyCap = 0;
        _expectRefused(_badTerms("dailyCap", 0, BUDGET));
        terms = sound;
        (terms.stopFloorBps, terms.stopFloor) = (0, BUDGET);
        _expectRefused(_badTerms("stopFloorBps", 0, 10_000));
    }

    function test_bad_input__amounts_above_their_bound__are_refused_by_field() public {
        MandateTerms memory sound = terms;
        terms.budgetUsdc = 2 ** 53;
        _expectRefused(_badTerms("budgetUsdc", 2 ** 53, 2 ** 53 - 1));
        terms = sound;
        terms.perTxCap = BUDGET + 1;
        _expectRefused(_badTerms("perTxCap", BUDGET + 1, BUDGET));
        terms = sound;
        terms.dailyCap = BUDGET + 1;
        _expectRefused(_badTerms("dailyCap", BUDGET + 1, BUDGET));
    }

    function test_bad_input__bps_above_10000__are_refused_by_field() public {
        MandateTerms memory sound = terms;
        terms.stopFloorBps = 10_001;
        _expectRefused(_badTerms("stopFloorBps", 10_001, 10_000));
        terms = sound;
        terms.agentFeeBps = 10_001;
        _expectRefused(_badTerms("agentFeeBps", 10_001, 10_000));
        terms.agentFeeBps = 10_000;
        _createEmpty();
    }

    function test_bad_input__floor_above_at_or_beside_the_budget__is_refused() public {
        terms.stopFloor = BUDGET + 1;
        _expectRefused(_badTerms("stopFloor", BUDGET + 1, FLOOR));
        terms.stopFloor = BUDGET;
        _expectRefused(_badTerms("stopFloor", BUDGET, FLOOR));
        terms.stopFloor = FLOOR + 1;
        _expectRefused(_badTerms("stopFloor", FLOOR + 1, FLOOR));
        terms.stopFloor = FLOOR - 1;
        _expectRefused(_badTerms("stopFloor", FLOOR - 1, FLOOR));
    }

    function test_bad_input__end_now_or_in_the_past_or_beyond_the_clock__is_refused() public {
        uint64[3] memory over = [NOW, NOW - 1, 0];
        for (uint256 i; i < over.length; ++i) {
            terms.endsAt = over[i];
            _expectRefused(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, over[i]));
        }
        terms.endsAt = uint64(type(uint32).max) + 1;
        _expectRefused(_badTerms("endsAt", uint256(type(uint32).max) + 1, type(uint32).max));
        terms.endsAt = NOW + 1;
        _createEmpty();
    }

    function test_bad_input__wish_at_the_floor_that_is_none__is_refused() public {
        terms.onFloor = 2;
        _expectRefused(_badTerms("onFloor", 2, 1));
    }

    function test_bad_input__zero_addresses__are_refused() public {
        MandateVault vault = _createWorking();
        bytes memory nobody = abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0));
        vm.startPrank(owner);
        _expectRevert(nobody);
        vault.setAgent(address(0));
        vault.stop("owner_stop");
        _expectRevert(nobody);
        vault.withdraw(address(usdc), address(0), 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vault.withdraw(address(usdc), owner, 0);
        vm.stopPrank();
        _expectRevert(nobody);
        vm.prank(agent);
        vault.setPayee(address(0));
        _expectRevert(nobody);
        vm.prank(keeperAdmin);
        factory.proposeKeeper(address(0));
    }

    function test_bad_input__zero_address_as_owner__is_refused() public {
        terms.owner = address(0);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        vm.prank(address(0));
        factory.createVault(terms, rules, "", _noFunding());
    }
}
