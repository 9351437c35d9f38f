// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SetAgentTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _setAgent(address newAgent) private {
        vm.prank(owner);
        vault.setAgent(newAgent);
    }

    function test_setAgent__another_agent__acts_and_the_first_one_does_not() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.AgentSet(stranger);
        _setAgent(stranger);

        assertEq(vault.agent(), stranger);
        vm.prank(stranger);
        vault.execute(_buy(1));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAgent.selector, agent));
        _execute(vault, _buy(1));
    }

    function test_setAgent__payee_stays_the_agent_of_the_terms() public {
        _setAgent(stranger);
        assertEq(vault.payee(), agent);
    }

    function test_setAgent__resumes_and_keeps_the_window() public {
        _execute(vault, _buy(PER_TX));
        vm.prank(owner);
        vault.removeAgent();
        assertTrue(vault.paused());
        _setAgent(agent);
        assertFalse(vault.paused());
        (, uint256 today,,) = vault.remaining();
        assertEq(today, DAILY - PER_TX);
    }

    /// @dev An owner who tries a key of theirs first has not given the fee away.
    function test_setAgent__open_board__whoever_first_spends_becomes_the_payee() public {
        terms.agent = address(0);
        vault = _createWorking();
        _setAgent(stranger);
        assertEq(vault.payee(), address(0));
        _setAgent(agent);
        _execute(vault, _give(0));
        assertEq(vault.payee(), address(0));

        _expectEmit(address(vault));
        emit IMandateVaultEvents.PayeeChanged(address(0), agent);
        _execute(vault, _buy(1));
        assertEq(vault.payee(), agent);

        _setAgent(stranger);
        vm.prank(stranger);
        vault.execute(_buy(1));
        assertEq(vault.payee(), agent);
    }

    function test_setAgent__open_board__a_payee_who_passed_the_fee_on__does_not_get_it_again() public {
        terms.agent = address(0);
        vault = _createWorking();
        _setAgent(agent);
        _execute(vault, _buy(1));
        vm.prank(agent);
        vault.setPayee(stranger);
        _execute(vault, _buy(1));
        assertEq(vault.payee(), stranger);
    }

    function test_setAgent__agent_of_the_terms__is_the_payee_before_and_after_the_first_spend() public {
        _setAgent(stranger);
        vm.prank(stranger);
        vault.execute(_buy(1));
        assertEq(vault.payee(), agent);
    }

    function test_setAgent__while_funding__passes() public {
        terms.agent = address(0);
        vault = _createEmpty();
        _setAgent(agent);
        assertEq(vault.agent(), agent);
    }

    function test_setAgent__nobody__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        _setAgent(address(0));
    }

    /// @dev As the first agent of the open board the vault would be its own payee, and a fee would be paid in a circle.
    function test_setAgent__the_vault_itself__reverts() public {
        terms.agent = address(0);
        vault = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(vault)));
        _setAgent(address(vault));
    }

    function test_setAgent__stranger__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        vm.prank(stranger);
        vault.setAgent(stranger);
    }

    function test_setAgent__after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _setAgent(agent);
    }

    function test_setAgent__one_second_before_the_end__passes() public {
        vm.warp(ENDS_AT - 1);
        _setAgent(stranger);
        assertEq(vault.agent(), stranger);
    }

    function test_setAgent__at_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _setAgent(stranger);
    }

    function test_setAgent__while_funding_at_the_end__reverts() public {
        terms.agent = address(0);
        vault = _createEmpty();
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _setAgent(agent);
    }

    function test_setAgent__after_settling__reverts() public {
        vm.warp(ENDS_AT);
        vm.prank(keeper);
        vault.settle();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        _setAgent(agent);
    }
}
