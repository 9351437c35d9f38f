// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract MarkTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
    }

    function _mark() private {
        vm.prank(keeper);
        vault.mark();
    }

    /// @dev 700 USDC of cash and a position that its adapter values as told.
    function _holdPositionWorth(uint256 value) private {
        for (uint256 i; i < 3; ++i) {
            _execute(vault, Call(address(relay), PER_TX, abi.encodeCall(MockRelayAdapter.take, (PER_TX))));
        }
        relay.setValue(address(vault), value);
    }

    function test_mark__above_the_floor__logs_what_the_vault_measures() public {
        _holdPositionWorth(100 * USD + 1);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(FLOOR + 1, 0);
        _mark();
        assertEq(vault.status(), Status.Working);
    }

    function test_mark__at_the_floor__stops_in_the_same_transaction() public {
        _holdPositionWorth(100 * USD);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(FLOOR, 0);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(keeper, "stop_line", FLOOR, 0, true);
        _mark();

        assertEq(vault.status(), Status.Stopped);
        assertEq(vault.agent(), address(0));
        assertEq(uint256(vault.stoppedAt()), NOW);
    }

    function test_mark__money_out_where_nobody_values_it__is_named() public {
        _execute(vault, _take(70 * USD));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(BUDGET, 70 * USD);
        _mark();
    }

    function test_mark__at_the_floor_with_a_part_at_cost__stops_and_names_it() public {
        _execute(vault, _take(1));
        vm.warp(NOW + 1 days);
        _holdPositionWorth(100 * USD);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(keeper, "stop_line", FLOOR, 1, true);
        _mark();
    }

    function test_mark__an_adapter_that_reverts__reverts_and_changes_nothing() public {
        vm.mockCallRevert(address(relay), abi.encodeCall(relay.valueOf, (address(vault))), "down");
        bytes32 head = vault.logHead();
        _expectRevert("down");
        _mark();
        assertEq(vault.logHead(), head);
        assertEq(vault.status(), Status.Working);
    }

    function test_mark__others__revert() public {
        address[4] memory others = [owner, agent, admin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotKeeper.selector, others[i]));
            vm.prank(others[i]);
            vault.mark();
        }
    }

    function test_mark__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        _mark();
    }

    function test_mark__twice_in_a_block__is_two_logs_of_one_measure() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(BUDGET, 0);
        _mark();
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(BUDGET, 0);
        _mark();
    }

    // ------------------------------------------------------------------ in one block with a party's stop

    function test_mark__before_an_agents_stop_in_its_block__both_stand() public {
        _holdPositionWorth(100 * USD + 1);
        _mark();
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(agent, "enough", 0, 0, false);
        vm.prank(agent);
        vault.stop("enough");
        assertEq(vault.status(), Status.Stopped);
    }

    function test_mark__after_an_agents_stop_in_its_block__measures_and_stops_nothing_again() public {
        _holdPositionWorth(100 * USD);
        vm.prank(agent);
        vault.stop("enough");
        vm.recordLogs();
        _mark();
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1);
        assertEq(logs[0].data, abi.encode(FLOOR, 0));
    }

    /// @dev Whoever is first has the stop: a mark at the line leaves the agent none.
    function test_mark__at_the_floor_before_an_agents_stop_in_its_block__is_the_stop() public {
        _holdPositionWorth(100 * USD);
        _mark();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        vm.prank(agent);
        vault.stop("enough");
    }

    // ------------------------------------------------------------------ after a stop

    function test_mark__after_a_partys_stop__measures_the_end_and_stops_nothing_again() public {
        _holdPositionWorth(30 * USD);
        _stop(vault);
        vm.warp(NOW + 1 days);
        vm.recordLogs();
        _mark();
        Vm.Log[] memory logs = vm.getRecordedLogs();
        assertEq(logs.length, 1);
        assertEq(logs[0].topics[0], IMandateVaultEvents.Marked.selector);
        assertEq(logs[0].data, abi.encode(730 * USD, 0));
        assertEq(uint256(vault.stoppedAt()), NOW);
    }

    function test_mark__after_a_stop_and_a_withdrawal__measures_what_is_left() public {
        _holdPositionWorth(30 * USD);
        _stop(vault);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, 600 * USD);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(130 * USD, 0);
        _mark();
    }

    function test_mark__after_a_stop_and_settling__passes() public {
        _stop(vault);
        vm.prank(keeper);
        vault.settle();
        vm.warp(GRACE_END + 1 days);
        _mark();
        assertEq(vault.status(), Status.Settled);
    }

    function test_mark__others_after_a_stop__revert() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotKeeper.selector, owner));
        vm.prank(owner);
        vault.mark();
    }

    // ------------------------------------------------------------------ the end

    function test_mark__in_the_last_second_of_the_grace__passes_and_stops() public {
        _holdPositionWorth(1);
        vm.warp(GRACE_END - 1);
        _mark();
        assertEq(vault.status(), Status.Stopped);
    }

    /// @dev From then on the owner may withdraw without a stop, and an empty vault is no loss.
    function test_mark__after_the_grace__reverts() public {
        vm.warp(GRACE_END);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _mark();
    }

    /// @dev An emptied vault would be marked at nothing, and stopped as if all had been lost.
    function test_mark__after_the_grace_and_a_withdrawal__reverts() public {
        vm.warp(GRACE_END);
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, BUDGET);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _mark();
        assertEq(vault.status(), Status.Working);
    }

    function test_mark__after_settling_without_a_stop__reverts() public {
        vm.warp(ENDS_AT);
        vm.prank(keeper);
        vault.settle();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _mark();
    }

    function test_mark__pauses_of_the_factory_do_not_gate_it() public {
        _holdPositionWorth(1);
        vm.prank(pauser);
        factory.pause();
        _mark();
        assertEq(vault.status(), Status.Stopped);
    }
}
