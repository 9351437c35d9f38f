// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice A venue that forwards gas into nothing, or answers with more than anybody wants to read.
contract WastefulVenue {
    function burn() external pure {
        while (true) {}
    }

    function bomb(uint256 size) external pure {
        assembly {
            return(0, size)
        }
    }

    /// @dev Records by whom and with how much ether it was called.
    address public caller;
    uint256 public value;

    function note() external payable {
        (caller, value) = (msg.sender, msg.value);
    }
}

/// @notice Attacks by a listed venue and by an agent in its pay. Each test names its pitfall in
/// docs/contracts-security.md.
contract VenueAttacksTest is Test {
    MandateVault internal vault;
    WastefulVenue internal wasteful;

    function setUp() public override {
        super.setUp();
        wasteful = new WastefulVenue();
        _addRule(address(wasteful), WastefulVenue.burn.selector, NO_PIN, KIND_EXIT);
        _addRule(address(wasteful), WastefulVenue.bomb.selector, NO_PIN, KIND_EXIT);
        _addRule(address(wasteful), WastefulVenue.note.selector, NO_PIN, KIND_EXIT);
        vault = _createWorking();
    }

    function _expectRefused(Call memory call_, bytes memory reason) private {
        assertEq(vault.check(_batch(call_)), reason);
        _expectRevert(reason);
        _execute(vault, call_);
    }

    function _notAllowed(address target, bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.TargetNotAllowed.selector, target, selector);
    }

    // ------------------------------------------------------------------ 1 an exit to the thief

    function test_pitfall_01__exit_that_pays_the_thief__is_refused_by_its_pin() public {
        _expectRefused(
            _giveTo(100 * USD, thief),
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint8(1),
                bytes32(uint256(uint160(thief)))
            )
        );
        assertEq(usdc.balanceOf(thief), 0);
    }

    function test_pitfall_01__pinned_word_that_hides_the_thief_in_its_upper_bytes__is_refused() public {
        bytes32 dirty = bytes32(uint256(uint160(address(vault))) | (uint256(1) << 160));
        Call memory call_ =
            Call(address(hostile), 0, abi.encodePacked(HostileVenue.giveTo.selector, uint256(USD), dirty));
        _expectRefused(
            call_,
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector, address(hostile), HostileVenue.giveTo.selector, uint8(1), dirty
            )
        );
    }

    // ------------------------------------------------------------------ 2 and 3 approvals

    function test_pitfall_02__allowance_that_the_venue_left__is_gone_after_the_call() public {
        _execute(vault, Call(address(hostile), PER_TX, abi.encodeCall(HostileVenue.take, (1))));
        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
        _expectRevert(
            abi.encodeWithSignature(
                "ERC20InsufficientAllowance(address,uint256,uint256)", address(hostile), uint256(0), uint256(1)
            )
        );
        vm.prank(thief);
        hostile.pullLater(address(vault), 1);
    }

    function test_pitfall_02__allowance_is_for_the_called_target_alone() public {
        // The adapter is approved while it is called, and the hostile venue gets nothing by it.
        _execute(vault, _buy(PER_TX));
        assertEq(usdc.allowance(address(vault), address(adapter)), 0);
        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
        assertEq(usdc.allowance(address(vault), address(venue)), 0);
    }

    function test_pitfall_02__failed_call_leaves_no_allowance() public {
        Call memory call_ = Call(address(hostile), PER_TX, abi.encodeCall(HostileVenue.fail, (1)));
        vm.prank(agent);
        (bool passed,) = address(vault).call(abi.encodeCall(vault.execute, (call_)));
        assertFalse(passed);
        assertEq(usdc.allowance(address(vault), address(hostile)), 0);
    }

    function test_pitfall_03__every_way_to_move_usdc_by_calldata__is_no_rule() public {
        bytes[7] memory movers = [
            abi.encodeCall(usdc.transfer, (thief, 1)),
            abi.encodeCall(usdc.approve, (thief, 1)),
            abi.encodeCall(usdc.transferFrom, (address(vault), thief, 1)),
            abi.encodeWithSignature("increaseAllowance(address,uint256)", thief, 1),
            abi.encodeWithSignature("permit(address,address,uint256,uint256,bytes)", vault, thief, 1, 1, ""),
            abi.encodeWithSignature("cancelAuthorization(address,bytes32,bytes)", vault, 0, ""),
            abi.encodeWithSignature("multicall(bytes[])", new bytes[](0))
        ];
        for (uint256 i; i < movers.length; ++i) {
            _expectRefused(Call(address(usdc), 0, movers[i]), _notAllowed(address(usdc), bytes4(movers[i])));
        }
    }

    // ------------------------------------------------------------------ 6 and 7 counters

    function test_pitfall_06__failed_transfer__counts_nothing() public {
        Call memory call_ = Call(address(hostile), 10, abi.encodeCall(HostileVenue.take, (11)));
        vm.prank(agent);
        (bool passed,) = address(vault).call(abi.encodeCall(vault.execute, (call_)));
        assertFalse(passed);
        (, uint256 today, uint256 total,) = vault.remaining();
        assertEq(today, DAILY);
        assertEq(total, BUDGET);
        assertEq(vault.totals().nonce, 0);
    }

    function test_pitfall_06__second_call_of_a_batch_fails__the_first_is_undone() public {
        Call memory failing = Call(address(hostile), 0, abi.encodeCall(HostileVenue.fail, (7)));
        _expectRevert(abi.encodeWithSelector(HostileVenue.VenueFailed.selector, uint256(7)));
        vm.prank(agent);
        vault.executeBatch(_batch(_take(50 * USD), failing));
        assertEq(vault.totals().spent, 0);
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_pitfall_07__call_of_nothing__is_judged_by_status_caller_and_rule_all_the_same() public {
        Call memory nothing = Call(address(hostile), 0, abi.encodeCall(HostileVenue.pullLater, (address(vault), 0)));
        _expectRefused(nothing, _notAllowed(address(hostile), HostileVenue.pullLater.selector));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, thief));
        vm.prank(thief);
        vault.execute(_take(0));
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _execute(vault, _take(0));
    }

    // ------------------------------------------------------------------ 10 batches

    function test_pitfall_10__batch_whose_calls_keep_the_cap_and_whose_sum_does_not__is_refused() public {
        Call[] memory calls = _batch(_take(60 * USD), _take(40 * USD), _take(1));
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX);
        assertEq(vault.check(calls), reason);
        _expectRevert(reason);
        vm.prank(agent);
        vault.executeBatch(calls);
    }

    function test_pitfall_10__maxSpends_that_wrap_around__are_refused() public {
        Call[] memory calls = _batch(_take(1), _take(1));
        calls[0].maxSpend = type(uint256).max;
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, type(uint256).max, PER_TX);
        assertEq(vault.check(calls), reason);
        _expectRevert(reason);
        vm.prank(agent);
        vault.executeBatch(calls);
    }

    // ------------------------------------------------------------------ 11 calls that are more than calls

    function test_pitfall_11__vault_factory_usdc_and_permit2_are_no_targets_of_a_call() public {
        address[4] memory targets =
            [address(vault), address(factory), address(usdc), 0x000000000022D473030F116dDEE9F6B43aC78BA3];
        for (uint256 i; i < targets.length; ++i) {
            _expectRefused(Call(targets[i], 0, hex"01020304"), _notAllowed(targets[i], 0x01020304));
        }
    }

    function test_pitfall_11__target_is_called_by_the_vault_without_value() public {
        vm.deal(address(vault), 1 ether);
        _execute(vault, Call(address(wasteful), 0, abi.encodeCall(WastefulVenue.note, ())));
        assertEq(wasteful.caller(), address(vault));
        assertEq(wasteful.value(), 0);
        assertEq(address(vault).balance, 1 ether);
    }

    function test_pitfall_11__target_runs_in_its_own_storage() public {
        // A delegatecall would have written the caller into the vault's first slot, where the agent is.
        _execute(vault, Call(address(wasteful), 0, abi.encodeCall(WastefulVenue.note, ())));
        assertEq(vault.agent(), agent);
    }

    function test_pitfall_11__vault_takes_no_ether() public {
        vm.deal(thief, 1 ether);
        vm.prank(thief);
        (bool passed,) = address(vault).call{value: 1}("");
        assertFalse(passed);
    }

    // ------------------------------------------------------------------ 12 calldata

    function test_pitfall_12__zero_to_three_bytes__are_no_selector() public {
        bytes memory data = "";
        for (uint256 length; length < 4; ++length) {
            _expectRefused(Call(address(hostile), 0, data), _notAllowed(address(hostile), 0));
            data = bytes.concat(data, hex"00");
        }
    }

    function testFuzz_pitfall_12__data_that_ends_before_the_pinned_word__is_refused(uint256 length) public {
        length = 4 + length % 64;
        bytes memory whole = abi.encodeCall(HostileVenue.giveTo, (USD, address(vault)));
        bytes memory data = new bytes(length);
        for (uint256 i; i < length; ++i) {
            data[i] = whole[i];
        }
        _expectRefused(
            Call(address(hostile), 0, data),
            abi.encodeWithSelector(
                ErrorsLib.CalldataTooShort.selector, address(hostile), HostileVenue.giveTo.selector, length, uint256(68)
            )
        );
    }

    function test_pitfall_12__struct_of_a_call_at_a_strange_offset__is_read_as_it_is_judged() public {
        // The argument's head points 32 bytes further than encoders do; the call in between is for the thief.
        Call memory real = _take(PER_TX + 1);
        bytes memory body =
            bytes.concat(abi.encode(real.target, real.maxSpend, uint256(96), real.data.length), real.data);
        bytes memory data = abi.encodePacked(MandateVault.execute.selector, uint256(64), uint256(uint160(thief)), body);
        vm.prank(agent);
        (bool passed, bytes memory answer) = address(vault).call(data);
        assertFalse(passed);
        assertEq(answer, abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
    }

    // ------------------------------------------------------------------ 16 the last spend before a stop

    function test_pitfall_16__spend_that_overtakes_the_stop__takes_one_action_at_most() public {
        // The agent sees the owner's stop coming and goes first.
        _execute(vault, _take(PER_TX));
        _stop(vault);
        assertEq(usdc.balanceOf(address(vault)), BUDGET - PER_TX);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _execute(vault, _take(1));
    }

    // ------------------------------------------------------------------ waste

    function test_waste__venue_that_burns_all_gas__harms_the_agents_transaction_alone() public {
        vm.prank(agent);
        (bool passed,) = address(vault).call{gas: 1_000_000}(
            abi.encodeCall(vault.execute, (Call(address(wasteful), 0, abi.encodeCall(WastefulVenue.burn, ()))))
        );
        assertFalse(passed);
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }

    function test_waste__venue_that_answers_a_megabyte__harms_the_agents_transaction_alone() public {
        vm.prank(agent);
        (bool passed,) = address(vault).call{gas: 1_000_000}(
            abi.encodeCall(vault.execute, (Call(address(wasteful), 0, abi.encodeCall(WastefulVenue.bomb, (1 << 20)))))
        );
        assertFalse(passed);
        assertEq(vault.totals().nonce, 0);
    }
}
