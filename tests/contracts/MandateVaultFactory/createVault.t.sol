// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract CreateVaultTest is Test {
    function _createBy(address sender, bytes memory signature, Funding memory funding) private returns (MandateVault) {
        vm.prank(sender);
        return MandateVault(factory.createVault(terms, rules, signature, funding));
    }

    function _assertBadTerms(bytes32 field, uint256 value, uint256 bound) private {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadTerms.selector, field, value, bound));
        _createBy(owner, "", _noFunding());
    }

    // ------------------------------------------------------------------ what it does

    function test_createVault__owner_sends__needs_no_signature() public {
        address predicted = _predicted();
        MandateVault vault = _createBy(owner, "", _noFunding());
        assertEq(address(vault), predicted);
        assertEq(vault.status(), Status.Funding);
        assertTrue(factory.isVault(address(vault)));
    }

    function test_createVault__anyone_with_the_owners_signature() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        MandateVault vault = _createBy(stranger, signature, _noFunding());
        assertEq(vault.owner(), owner);
    }

    function test_createVault__log_carries_the_whole_document() public {
        address predicted = _predicted();
        bytes32 digest = _digest();
        _expectEmit(address(factory));
        emit EventsLib.VaultCreated(predicted, digest, owner, agent, terms.publicId, terms, rules);
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__whoever_submits__the_address_is_the_same() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        address predicted = _predicted();
        assertEq(address(_createBy(stranger, signature, _noFunding())), predicted);
        assertEq(address(_createBy(owner, "", _noFunding())), predicted);
    }

    function test_createVault__other_terms__other_address() public {
        address first = _predicted();
        terms.nonce = 2;
        assertTrue(_predicted() != first);
    }

    function test_createVault__leaves_no_code_behind_for_the_next() public {
        _createBy(owner, "", _noFunding());
        assertEq(factory.vaultCode(), "");
    }

    function test_createVault__each_vault__is_counted_once() public {
        assertEq(factory.vaultCount(), 0);
        _createBy(owner, "", _noFunding());
        assertEq(factory.vaultCount(), 1);
        _createBy(owner, "", _noFunding());
        assertEq(factory.vaultCount(), 1);
        terms.nonce += 1;
        _createBy(owner, "", _noFunding());
        assertEq(factory.vaultCount(), 2);
    }

    // ------------------------------------------------------------------ funding

    function test_createVault__owner_pulls_from_the_allowance_to_the_predicted_vault() public {
        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        _expectEmit(predicted);
        emit IMandateVaultEvents.Deposited(owner, BUDGET, BUDGET, BUDGET);
        MandateVault vault = _createBy(owner, "", _pull(BUDGET));
        assertEq(vault.status(), Status.Working);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_createVault__part_of_the_budget__stays_in_funding() public {
        MandateVault vault = _createBy(stranger, "", _authorizedFunding(OWNER_KEY, BUDGET - 1));
        assertEq(vault.status(), Status.Funding);
        assertEq(vault.totals().deposited, BUDGET - 1);
    }

    function test_createVault__one_authorization_is_consent_and_money() public {
        MandateVault vault = _createBy(stranger, "", _authorizedFunding(OWNER_KEY, BUDGET));
        assertEq(vault.status(), Status.Working);
        assertEq(usdc.balanceOf(owner), 9 * BUDGET);
        assertTrue(usdc.authorizationState(owner, _digest()));
    }

    function test_createVault__authorization_beside_a_signature() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        MandateVault vault = _createBy(stranger, signature, _authorizedFunding(OWNER_KEY, BUDGET));
        assertEq(vault.status(), Status.Working);
    }

    function test_createVault__stranger_pulls_the_owners_allowance__reverts() public {
        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        bytes memory signature = _sign(OWNER_KEY, _digest());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        _createBy(stranger, signature, _pull(BUDGET));
    }

    function test_createVault__above_the_budget__reverts() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET + 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, BUDGET + 1, BUDGET));
        _createBy(stranger, "", funding);
    }

    function test_createVault__authorization_by_another_key__reverts() public {
        Funding memory funding = _authorizedFunding(STRANGER_KEY, BUDGET);
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
        _createBy(stranger, "", funding);
    }

    function test_createVault__authorization_for_other_terms__reverts() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        terms.agent = thief;
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
        _createBy(thief, "", funding);
    }

    function test_createVault__empty_authorization_of_nothing_is_no_consent() public {
        Funding memory funding = Funding(0, 0, NOW + 1 hours, _sign(STRANGER_KEY, _digest()));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, owner));
        _createBy(stranger, "", funding);
    }

    // ------------------------------------------------------------------ again

    function test_createVault__again__returns_the_vault_and_moves_nothing() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, 400 * USD);
        MandateVault vault = _createBy(stranger, "", funding);
        assertEq(address(_createBy(stranger, "", funding)), address(vault));
        assertEq(vault.totals().deposited, 400 * USD);
    }

    function test_createVault__frontrun_without_the_money__the_authorization_still_funds() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        bytes memory signature = _sign(OWNER_KEY, _digest());
        MandateVault vault = _createBy(thief, signature, _noFunding());
        assertEq(vault.status(), Status.Funding);
        _createBy(stranger, signature, funding);
        assertEq(vault.status(), Status.Working);
    }

    function test_createVault__frontrun_of_the_owner__the_pull_still_happens_once() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, type(uint256).max);
        _createBy(thief, signature, _noFunding());

        MandateVault vault = _createBy(owner, "", _pull(400 * USD));
        assertEq(vault.totals().deposited, 400 * USD);
        _createBy(owner, "", _pull(400 * USD));
        assertEq(vault.totals().deposited, 400 * USD);
    }

    function test_createVault__again_by_a_stranger_with_a_pull__reverts() public {
        _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        _createBy(stranger, "", _pull(1));
    }

    function test_createVault__authorization_after_the_budget_is_in__is_left_unused() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        MandateVault vault = _createWorking();
        _createBy(stranger, "", funding);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
        assertFalse(usdc.authorizationState(owner, _digest()));
    }

    // ------------------------------------------------------------------ consent

    function test_createVault__without_consent__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, owner));
        _createBy(stranger, "", _noFunding());
    }

    function test_createVault__signature_by_another_key__reverts() public {
        bytes memory signature = _sign(STRANGER_KEY, _digest());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, owner));
        _createBy(stranger, signature, _noFunding());
    }

    function test_createVault__signature_over_other_terms__reverts() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        terms.dailyCap = DAILY + 1;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, owner));
        _createBy(stranger, signature, _noFunding());
    }

    function test_createVault__signature_for_another_chain__reverts() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        vm.chainId(1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, owner));
        _createBy(stranger, signature, _noFunding());
    }

    function test_createVault__erc1271_owner_signs() public {
        ERC1271Wallet wallet = new ERC1271Wallet(vm.addr(OWNER_KEY));
        terms.owner = address(wallet);
        MandateVault vault = _createBy(stranger, _sign(OWNER_KEY, _digest()), _noFunding());
        assertEq(vault.owner(), address(wallet));
    }

    function test_createVault__erc1271_owner_with_a_foreign_signature__reverts() public {
        ERC1271Wallet wallet = new ERC1271Wallet(vm.addr(OWNER_KEY));
        terms.owner = address(wallet);
        bytes memory signature = _sign(STRANGER_KEY, _digest());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, address(wallet)));
        _createBy(stranger, signature, _noFunding());
    }

    function test_createVault__erc1271_owner_calls_and_pulls() public {
        ERC1271Wallet wallet = new ERC1271Wallet(owner);
        usdc.mint(address(wallet), BUDGET);
        terms.owner = address(wallet);
        address predicted = _predicted();
        vm.startPrank(owner);
        wallet.execute(address(usdc), abi.encodeCall(usdc.approve, (predicted, BUDGET)));
        wallet.execute(address(factory), abi.encodeCall(factory.createVault, (terms, rules, "", _pull(BUDGET))));
        assertEq(MandateVault(predicted).status(), Status.Working);
    }

    function test_createVault__delegated_eoa_owner_signs_with_its_key() public {
        // EIP-7702: the account has code that knows no ERC-1271, and still its key.
        vm.etch(owner, abi.encodePacked(hex"ef0100", address(venue)));
        MandateVault vault = _createBy(stranger, _sign(OWNER_KEY, _digest()), _noFunding());
        assertEq(vault.owner(), owner);
    }

    // ------------------------------------------------------------------ terms out of bounds

    function test_createVault__cancelled_terms__reverts() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        vm.prank(owner);
        factory.cancelTerms(terms);
        bytes memory cancelled = abi.encodeWithSelector(ErrorsLib.TermsWereCancelled.selector, _digest());
        _expectRevert(cancelled);
        _createBy(stranger, signature, _noFunding());
        _expectRevert(cancelled);
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__paused__reverts() public {
        vm.prank(pauser);
        factory.pause();
        _expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__one_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__end_after_2106__reverts() public {
        terms.endsAt = 2 ** 32;
        _assertBadTerms("endsAt", 2 ** 32, 2 ** 32 - 1);
        terms.endsAt = 2 ** 32 - 1;
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__budget_out_of_bounds__reverts() public {
        terms.budgetUsdc = 0;
        _assertBadTerms("budgetUsdc", 0, 2 ** 53 - 1);
        terms.budgetUsdc = 2 ** 53;
        _assertBadTerms("budgetUsdc", 2 ** 53, 2 ** 53 - 1);
    }

    function test_createVault__largest_budget__passes() public {
        terms.budgetUsdc = 2 ** 53 - 1;
        terms.stopFloor = terms.budgetUsdc - terms.budgetUsdc * 2_000 / 10_000;
        assertEq(_createBy(owner, "", _noFunding()).budget(), 2 ** 53 - 1);
    }

    function test_createVault__caps_out_of_bounds__revert() public {
        terms.perTxCap = 0;
        _assertBadTerms("perTxCap", 0, BUDGET);
        terms.perTxCap = BUDGET + 1;
        _assertBadTerms("perTxCap", BUDGET + 1, BUDGET);
        terms.perTxCap = BUDGET;
        terms.dailyCap = 0;
        _assertBadTerms("dailyCap", 0, BUDGET);
        terms.dailyCap = BUDGET + 1;
        _assertBadTerms("dailyCap", BUDGET + 1, BUDGET);
        terms.dailyCap = BUDGET;
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__floor_that_is_not_the_budget_less_the_loss__reverts() public {
        terms.stopFloor = FLOOR + 1;
        _assertBadTerms("stopFloor", FLOOR + 1, FLOOR);
        terms.stopFloor = FLOOR - 1;
        _assertBadTerms("stopFloor", FLOOR - 1, FLOOR);
    }

    function test_createVault__loss_is_rounded_down_so_the_floor_is_rounded_up() public {
        terms.budgetUsdc = 1_001;
        terms.perTxCap = 1;
        terms.dailyCap = 1;
        terms.stopFloorBps = 333;
        // 3.33 % of 1,001 are 33.3333.
        terms.stopFloor = 1_001 - 33;
        assertEq(_createBy(owner, "", _noFunding()).stopFloor(), 968);
    }

    function test_createVault__loss_of_nothing_or_of_more_than_all__reverts() public {
        terms.stopFloorBps = 0;
        _assertBadTerms("stopFloorBps", 0, 10_000);
        terms.stopFloorBps = 10_001;
        _assertBadTerms("stopFloorBps", 10_001, 10_000);
        terms.stopFloorBps = 10_000;
        terms.stopFloor = 0;
        assertEq(_createBy(owner, "", _noFunding()).stopFloor(), 0);
    }

    function test_createVault__floor_that_is_the_whole_budget__reverts() public {
        terms.budgetUsdc = 9;
        terms.perTxCap = 9;
        terms.dailyCap = 9;
        terms.stopFloorBps = 1;
        terms.stopFloor = 9;
        _assertBadTerms("stopFloor", 9, 9);
    }

    function test_createVault__fee_above_all_of_the_gain__reverts() public {
        terms.agentFeeBps = 10_001;
        _assertBadTerms("agentFeeBps", 10_001, 10_000);
        terms.agentFeeBps = 10_000;
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__unknown_wish_at_the_floor__reverts() public {
        terms.onFloor = 2;
        _assertBadTerms("onFloor", 2, 1);
        terms.onFloor = 1;
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__nobody_as_owner__reverts() public {
        terms.owner = address(0);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        _createBy(address(0), "", _noFunding());
    }

    // ------------------------------------------------------------------ rules out of bounds

    function test_createVault__rules_that_were_not_signed__reverts() public {
        bytes32 signed = terms.allowedTargetsHash;
        rules.pop();
        bytes32 given = keccak256(abi.encode(rules));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.RulesHashMismatch.selector, given, signed));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__no_rule_or_thirty_three__reverts() public {
        _clearRules();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadRuleCount.selector, uint256(0), uint256(32)));
        _createBy(owner, "", _noFunding());
        for (uint32 i; i < 33; ++i) {
            _addRule(address(hostile), bytes4(i), NO_PIN, KIND_SPEND);
        }
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadRuleCount.selector, uint256(33), uint256(32)));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__unsorted_or_double_rules__revert() public {
        _clearRules();
        rules.push(Rule(address(hostile), 0x00000002, NO_PIN, KIND_SPEND));
        rules.push(Rule(address(hostile), 0x00000001, NO_PIN, KIND_SPEND));
        terms.allowedTargetsHash = keccak256(abi.encode(rules));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.RulesNotSorted.selector, uint256(1)));
        _createBy(owner, "", _noFunding());
        rules[1] = Rule(address(hostile), 0x00000002, NO_PIN, KIND_EXIT);
        terms.allowedTargetsHash = keccak256(abi.encode(rules));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.RulesNotSorted.selector, uint256(1)));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__forbidden_targets__revert() public {
        address permit2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
        vm.etch(permit2, hex"00");
        address[4] memory forbidden = [address(usdc), address(factory), permit2, stranger];
        for (uint256 i; i < forbidden.length; ++i) {
            _clearRules();
            _addRule(forbidden[i], 0x00000001, NO_PIN, KIND_SPEND);
            _expectRevert(abi.encodeWithSelector(ErrorsLib.ForbiddenTarget.selector, uint256(0), forbidden[i]));
            _createBy(owner, "", _noFunding());
        }
    }

    function test_createVault__unknown_kind__reverts() public {
        _clearRules();
        _addRule(address(hostile), 0x00000001, NO_PIN, 4);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.UnknownKind.selector, uint256(0), uint8(4)));
        _createBy(owner, "", _noFunding());
    }

    function test_createVault__valued_spend_or_cost_at_an_unlisted_contract__reverts() public {
        uint8[2] memory kinds = [KIND_VALUED_SPEND, KIND_COST];
        for (uint256 i; i < kinds.length; ++i) {
            _clearRules();
            _addRule(address(hostile), 0x00000001, NO_PIN, kinds[i]);
            _expectRevert(abi.encodeWithSelector(ErrorsLib.AdapterNotListed.selector, address(hostile)));
            _createBy(owner, "", _noFunding());
        }
    }

    function test_createVault__later_delisting_changes_no_vault() public {
        MandateVault vault = _createWorking();
        vm.prank(admin);
        factory.delistAdapter(address(adapter));
        _execute(vault, _buy(USD));
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET);

        terms.nonce = 2;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.AdapterNotListed.selector, address(adapter)));
        _createBy(owner, "", _noFunding());
    }
}
