// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ViewsTest is Test {
    function test_views__terms_are_what_was_signed() public {
        MandateVault vault = _createEmpty();
        assertEq(vault.owner(), owner);
        assertEq(vault.budget(), BUDGET);
        assertEq(vault.perTxCap(), PER_TX);
        assertEq(vault.dailyCap(), DAILY);
        assertEq(vault.stopFloor(), FLOOR);
        assertEq(uint256(vault.endsAt()), ENDS_AT);
        assertEq(vault.agentFeeBps(), 1_000);
        assertEq(vault.termsDigest(), _digest());
    }

    function test_rules__are_what_was_signed_in_order() public {
        MandateVault vault = _createEmpty();
        assertEq(abi.encode(vault.rules()), abi.encode(rules));
    }

    function test_rules__one_and_thirty_two() public {
        _clearRules();
        _addRule(address(hostile), 0x00000001, 254, KIND_EXIT);
        assertEq(abi.encode(_createEmpty().rules()), abi.encode(rules));
        for (uint32 i = 2; i <= 32; ++i) {
            // The counter is at most 32.
            // forge-lint: disable-next-line(unsafe-typecast)
            _addRule(address(hostile), bytes4(i), uint8(i), uint8(i % 2));
        }
        MandateVault vault = _createEmpty();
        assertEq(abi.encode(vault.rules()), abi.encode(rules));
        for (uint32 i = 1; i <= 32; ++i) {
            assertTrue(vault.isAllowed(address(hostile), bytes4(i)));
        }
        assertFalse(vault.isAllowed(address(hostile), bytes4(uint32(33))));
        assertFalse(vault.isAllowed(address(hostile), bytes4(0)));
    }

    function test_isAllowed__target_and_selector_together() public {
        MandateVault vault = _createEmpty();
        assertTrue(vault.isAllowed(address(adapter), TestVenueAdapter.buy.selector));
        assertTrue(vault.isAllowed(address(hostile), HostileVenue.giveTo.selector));
        assertFalse(vault.isAllowed(address(adapter), HostileVenue.giveTo.selector));
        assertFalse(vault.isAllowed(address(usdc), usdc.transfer.selector));
        assertFalse(vault.isAllowed(address(vault), MandateVault.withdraw.selector));
    }

    function test_paused__only_while_a_removed_agent_can_come_back() public {
        MandateVault vault = _createWorking();
        assertFalse(vault.paused());
        vm.prank(pauser);
        factory.pause();
        assertFalse(vault.paused());
        vm.prank(owner);
        vault.removeAgent();
        assertTrue(vault.paused());
        _stop(vault);
        assertFalse(vault.paused());
    }

    function test_totals__untouched__are_zero() public {
        assertEq(abi.encode(_createEmpty().totals()), new bytes(7 * 32));
    }

    function test_views__the_vault_signs_nothing_and_has_no_fallback() public {
        address vault = address(_createWorking());
        (bool answered,) = vault.call(abi.encodeWithSignature("isValidSignature(bytes32,bytes)", bytes32(0), ""));
        assertFalse(answered);
        (answered,) = vault.call("");
        assertFalse(answered);
        (answered,) = vault.call(hex"deadbeef");
        assertFalse(answered);
    }

    function test_views__an_authorization_in_the_vaults_name_moves_nothing() public {
        address vault = address(_createWorking());
        bytes32 structHash = keccak256(
            abi.encode(usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), vault, thief, 1, 0, NOW + 1 hours, bytes32(0))
        );
        bytes memory signature = _sign(AGENT_KEY, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash));
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
        usdc.transferWithAuthorization(vault, thief, 1, 0, NOW + 1 hours, bytes32(0), signature);
    }
}
