// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ReceiveProceedsTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function test_receiveProceeds__listed_adapter__counts_as_received() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.ProceedsReceived(address(relay), 25 * USD, BUDGET + 25 * USD);
        relay.pushProceeds(address(vault), 25 * USD);

        assertEq(vault.totals().received, 25 * USD);
        (,, uint256 total,) = vault.remaining();
        assertEq(total, BUDGET + 25 * USD);
    }

    function test_receiveProceeds__of_an_adapter_that_values_nothing__lowers_the_unvalued_counter() public {
        _execute(vault, _take(10 * USD));
        relay.pushProceeds(address(vault), 4 * USD);
        assertEq(vault.totals().unvaluedOut, 6 * USD);
        relay.pushProceeds(address(vault), 7 * USD);
        assertEq(vault.totals().unvaluedOut, 0);
    }

    function test_receiveProceeds__of_an_adapter_that_values__leaves_the_unvalued_counter() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        _execute(vault, _take(10 * USD));
        relay.pushProceeds(address(vault), 10 * USD);
        assertEq(vault.totals().unvaluedOut, 10 * USD);
    }

    function test_receiveProceeds__after_a_stop__counts_for_the_fee() public {
        _stop(vault);
        relay.pushProceeds(address(vault), 50 * USD);
        assertEq(vault.feeOwed(), 5 * USD);
    }

    function test_receiveProceeds__stranger__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, stranger));
        vm.prank(stranger);
        vault.receiveProceeds(1);
    }

    function test_receiveProceeds__delisted_and_not_in_the_rules__reverts() public {
        vm.prank(admin);
        factory.delistAdapter(address(relay));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAdapter.selector, address(relay)));
        relay.pushProceeds(address(vault), 1);
    }

    function test_receiveProceeds__delisted_and_in_the_rules__passes() public {
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        vault = _createWorking();
        vm.prank(admin);
        factory.delistAdapter(address(relay));
        relay.pushProceeds(address(vault), 1);
        assertEq(vault.totals().received, 1);
    }

    function test_receiveProceeds__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        relay.pushProceeds(address(vault), 1);
    }

    function test_receiveProceeds__nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        relay.pushProceeds(address(vault), 0);
    }
}
