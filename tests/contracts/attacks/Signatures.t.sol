// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice Remembers who called it: the side effect that an ERC-6492 signature asks for.
contract SideEffect {
    address[] public callers;

    function deploy() external {
        callers.push(msg.sender);
    }

    function count() external view returns (uint256) {
        return callers.length;
    }
}

/// @notice Pitfalls 4, 8, 13, 14, 15 and 20: what is signed, by whom, for what, and who submits it.
contract SignatureAttacksTest is Test {
    /// @dev Order of the curve: (r, n - s) with the other v is the second signature over the same words.
    uint256 private constant CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141;

    function _badSignature() private {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, terms.owner));
    }

    function _createBy(address who, bytes memory signature, Funding memory funding) private returns (MandateVault) {
        vm.prank(who);
        return MandateVault(factory.createVault(terms, rules, signature, funding));
    }

    function _expectUsdcError(string memory reason) private {
        _expectRevert(abi.encodeWithSignature("Error(string)", reason));
    }

    // ------------------------------------------------------------------ 4 a vault signs nothing

    function test_pitfall_04__vault_answers_no_signature_question() public {
        MandateVault vault = _createWorking();
        bytes32 hash = keccak256("spend everything");
        bytes[3] memory signatures = [bytes(""), _sign(OWNER_KEY, hash), _sign(AGENT_KEY, hash)];
        for (uint256 i; i < signatures.length; ++i) {
            (bool answered,) = address(vault)
                .staticcall(abi.encodeWithSignature("isValidSignature(bytes32,bytes)", hash, signatures[i]));
            assertFalse(answered);
        }
    }

    function test_pitfall_04__authorization_in_the_vaults_name__moves_nothing() public {
        MandateVault vault = _createWorking();
        bytes memory signature = _authorization(OWNER_KEY, address(vault), thief, USD, 0);
        _expectUsdcError("FiatTokenV2: invalid signature");
        vm.prank(thief);
        usdc.receiveWithAuthorization(address(vault), thief, USD, 0, block.timestamp + 1 hours, 0, signature);
    }

    // ------------------------------------------------------------------ 8 ERC-6492

    function test_pitfall_08__side_effect_of_a_wrapped_signature__never_runs_as_factory_or_vault() public {
        SideEffect effect = new SideEffect();
        bytes memory inner = _sign(STRANGER_KEY, _digest());
        bytes memory wrapped = bytes.concat(
            abi.encode(address(effect), abi.encodeCall(SideEffect.deploy, ()), inner),
            hex"6492649264926492649264926492649264926492649264926492649264926492"
        );
        vm.prank(thief);
        (bool passed,) =
            address(factory).call(abi.encodeCall(factory.createVault, (terms, rules, wrapped, _noFunding())));
        assertFalse(passed);
        for (uint256 i; i < effect.count(); ++i) {
            assertTrue(effect.callers(i) != address(factory) && effect.callers(i) != _predicted());
        }
    }

    // ------------------------------------------------------------------ 13 replay and malleability

    function test_pitfall_13__second_form_of_a_signature__is_refused() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(OWNER_KEY, _digest());
        bytes memory second = abi.encodePacked(r, CURVE_ORDER - uint256(s), v == 27 ? uint8(28) : uint8(27));
        _badSignature();
        _createBy(stranger, second, _noFunding());
    }

    function test_pitfall_13__signatures_of_other_lengths__are_refused() public {
        bytes memory whole = _sign(OWNER_KEY, _digest());
        bytes[3] memory others = [bytes.concat(whole, hex"00"), hex"00", new bytes(65)];
        for (uint256 i; i < others.length; ++i) {
            _badSignature();
            _createBy(stranger, others[i], _noFunding());
        }
    }

    function test_pitfall_13__nobody_as_owner__is_not_who_a_broken_signature_recovers() public {
        terms.owner = address(0);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        _createBy(stranger, new bytes(65), _noFunding());
    }

    function test_pitfall_13__replay_on_another_chain__is_refused() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        vm.chainId(8453);
        _badSignature();
        _createBy(stranger, signature, _noFunding());
    }

    function test_pitfall_13__replay_at_another_factory__is_refused() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        address[3] memory adapters = [address(adapter), address(x402), address(relay)];
        _deployHouse("MockUSDC.sol");
        for (uint256 i; i < adapters.length; ++i) {
            vm.prank(admin);
            factory.listAdapter(adapters[i]);
        }
        _badSignature();
        _createBy(stranger, signature, _noFunding());
    }

    function test_pitfall_13__replay_with_another_nonce__is_refused() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        terms.nonce += 1;
        _badSignature();
        _createBy(stranger, signature, _noFunding());
    }

    function test_pitfall_13__replay_with_another_public_id__is_refused() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        terms.publicId = "m_4k2v7c3xqb";
        _badSignature();
        _createBy(stranger, signature, _noFunding());
    }

    function test_pitfall_13__replay_after_the_mandate_is_over__makes_no_second_vault() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        MandateVault vault = _createWorking();
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        MandateVault again = _createBy(thief, signature, _noFunding());
        assertEq(address(again), address(vault));
        assertEq(again.status(), Status.Stopped);
        assertEq(usdc.balanceOf(address(again)), 0);
    }

    function test_pitfall_13__deposit_authorization__serves_one_vault_one_amount_and_once() public {
        MandateVault vault = _createEmpty();
        bytes32 nonce = vault.depositNonce(owner, 5, "salt");
        bytes memory signature = _authorization(OWNER_KEY, owner, address(vault), 5, nonce);
        terms.nonce = 2;
        MandateVault other = _createEmpty();

        _expectUsdcError("FiatTokenV2: invalid signature");
        other.depositWithAuthorization(owner, 5, 0, NOW + 1 hours, "salt", signature);
        _expectUsdcError("FiatTokenV2: invalid signature");
        vault.depositWithAuthorization(owner, 6, 0, NOW + 1 hours, "salt", signature);
        vault.depositWithAuthorization(owner, 5, 0, NOW + 1 hours, "salt", signature);
        _expectUsdcError("FiatTokenV2: authorization is used or canceled");
        vault.depositWithAuthorization(owner, 5, 0, NOW + 1 hours, "salt", signature);
    }

    function test_pitfall_13__deposit_nonce__holds_chain_vault_payer_amount_and_salt() public {
        MandateVault vault = _createEmpty();
        bytes32 nonce = vault.depositNonce(owner, 5, "salt");
        assertTrue(nonce != vault.depositNonce(thief, 5, "salt"));
        assertTrue(nonce != vault.depositNonce(owner, 6, "salt"));
        assertTrue(nonce != vault.depositNonce(owner, 5, "other"));
        terms.nonce = 2;
        assertTrue(nonce != _createEmpty().depositNonce(owner, 5, "salt"));
        vm.chainId(1);
        assertTrue(nonce != vault.depositNonce(owner, 5, "salt"));
    }

    // ------------------------------------------------------------------ 14 front-running the creation

    function test_pitfall_14__thief_submits_first__the_vault_is_the_same_and_the_owners() public {
        address predicted = _predicted();
        MandateVault vault = _createBy(thief, _sign(OWNER_KEY, _digest()), _noFunding());
        assertEq(address(vault), predicted);
        assertEq(vault.owner(), owner);
        assertEq(vault.agent(), agent);
        assertEq(address(_createEmpty()), predicted);
    }

    function test_pitfall_14__thief_submits_the_signature_with_rules_of_its_own__is_refused() public {
        bytes memory signature = _sign(OWNER_KEY, _digest());
        bytes32 signed = terms.allowedTargetsHash;
        _addRule(address(hostile), HostileVenue.pullLater.selector, NO_PIN, KIND_SPEND);
        bytes32 given = terms.allowedTargetsHash;
        terms.allowedTargetsHash = signed;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.RulesHashMismatch.selector, given, signed));
        _createBy(thief, signature, _noFunding());
    }

    function test_pitfall_14__thief_submits_first_with_a_pull_of_the_owners_allowance__is_refused() public {
        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        bytes memory signature = _sign(OWNER_KEY, _digest());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, thief));
        _createBy(thief, signature, _pull(BUDGET));
    }

    function test_pitfall_14__thief_sends_money_to_the_predicted_address__is_a_gift_to_the_owner() public {
        usdc.mint(_predicted(), 7);
        MandateVault vault = _createBy(thief, _sign(OWNER_KEY, _digest()), _noFunding());
        assertEq(vault.totals().deposited, 0);
        assertEq(vault.status(), Status.Funding);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, 7);
    }

    function test_pitfall_14__cancellation_that_came_first__leaves_the_signature_worthless() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        bytes memory signature = _sign(OWNER_KEY, _digest());
        vm.prank(owner);
        factory.cancelTerms(terms);
        bytes memory refusal = abi.encodeWithSelector(ErrorsLib.TermsWereCancelled.selector, _digest());
        _expectRevert(refusal);
        _createBy(thief, signature, funding);
        _expectRevert(refusal);
        _createBy(thief, "", funding);
    }

    // ------------------------------------------------------------------ 15 EIP-3009

    function test_pitfall_15__thief_spends_the_authorization_itself__is_refused() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        (address predicted, bytes32 digest) = (_predicted(), _digest());
        _expectUsdcError("FiatTokenV2: caller must be the payee");
        vm.prank(thief);
        usdc.receiveWithAuthorization(
            owner, predicted, BUDGET, funding.validAfter, funding.validBefore, digest, funding.signature
        );
        // As a transfer, which any sender may submit, it is another type and no signature at all.
        _expectUsdcError("FiatTokenV2: invalid signature");
        vm.prank(thief);
        usdc.transferWithAuthorization(
            owner, predicted, BUDGET, funding.validAfter, funding.validBefore, digest, funding.signature
        );
    }

    function test_pitfall_15__authorization_redirected_to_other_terms__is_refused() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        terms.agent = thief;
        _expectUsdcError("FiatTokenV2: invalid signature");
        _createBy(thief, "", funding);
    }

    function test_pitfall_15__authorization_with_another_amount__is_refused() public {
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        funding.amount = BUDGET - 1;
        _expectUsdcError("FiatTokenV2: invalid signature");
        _createBy(thief, "", funding);
    }

    function test_pitfall_15__deposit_from_somebody_elses_authorization__is_refused() public {
        MandateVault vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, thief));
        vault.depositWithAuthorization(thief, 5, 0, NOW + 1 hours, "salt", "");
    }

    // ------------------------------------------------------------------ 20 accounts with code and a key

    /// @dev EIP-7702: the account's code is a designator that points to `implementation`.
    function _delegate(address account, address implementation) private {
        vm.etch(account, abi.encodePacked(hex"ef0100", implementation));
    }

    function test_pitfall_20__delegated_owner__signs_with_its_key() public {
        _delegate(owner, address(venue));
        assertEq(_createBy(stranger, _sign(OWNER_KEY, _digest()), _noFunding()).owner(), owner);
    }

    function test_pitfall_20__delegated_owner__needs_no_signature_when_it_sends() public {
        _delegate(owner, address(venue));
        assertEq(_createBy(owner, "", _noFunding()).owner(), owner);
    }

    function test_pitfall_20__delegated_owner__with_another_key__is_refused() public {
        _delegate(owner, address(venue));
        bytes memory signature = _sign(STRANGER_KEY, _digest());
        _badSignature();
        _createBy(stranger, signature, _noFunding());
    }

    function test_pitfall_20__owner_whose_code_speaks_erc1271__may_sign_either_way() public {
        vm.etch(owner, address(new ERC1271Wallet(vm.addr(STRANGER_KEY))).code);
        bytes32 digest = _digest();
        uint256 snapshot = vm.snapshotState();
        assertEq(_createBy(thief, _sign(STRANGER_KEY, digest), _noFunding()).owner(), owner);
        vm.revertToState(snapshot);
        assertEq(_createBy(thief, _sign(OWNER_KEY, digest), _noFunding()).owner(), owner);
    }

    function test_pitfall_20__delegated_owner_funds_by_allowance__though_usdc_asks_its_code_for_authorizations()
        public
    {
        _delegate(owner, address(venue));
        Funding memory funding = _authorizedFunding(OWNER_KEY, BUDGET);
        _expectUsdcError("FiatTokenV2: invalid signature");
        _createBy(stranger, "", funding);

        address predicted = _predicted();
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        assertEq(_createBy(owner, "", _pull(BUDGET)).status(), Status.Working);
    }

    function test_pitfall_20__delegated_owner__stops_and_withdraws() public {
        MandateVault vault = _createWorking();
        _delegate(owner, address(venue));
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    /// forge-config: default.evm_version = "prague"
    function test_pitfall_20__account_that_really_delegated__signs_with_its_key_and_funds_by_allowance() public {
        address predicted = _predicted();
        bytes memory signature = _sign(OWNER_KEY, _digest());
        // The delegation rides on the next transaction, which the account sends itself.
        vm.signAndAttachDelegation(address(venue), OWNER_KEY);
        vm.prank(owner);
        usdc.approve(predicted, BUDGET);
        assertEq(owner.code, abi.encodePacked(hex"ef0100", address(venue)));

        MandateVault vault = _createBy(stranger, signature, _noFunding());
        assertEq(_createBy(owner, "", _pull(BUDGET)).status(), Status.Working);
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        assertEq(usdc.balanceOf(predicted), 0);
    }
}
