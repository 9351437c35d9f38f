// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract SettleTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _settleBy(address who) private returns (uint256) {
        vm.prank(who);
        return vault.settle();
    }

    function _gain100() private {
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(vault, _sell(100 * USD));
    }

    // ------------------------------------------------------------------ how much

    function test_settle__gain__pays_the_share() public {
        _gain100();
        _stop(vault);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Settled(agent, 100 * USD, 10 * USD, BUDGET + 90 * USD);
        assertEq(_settleBy(keeper), 10 * USD);

        assertEq(usdc.balanceOf(agent), 10 * USD);
        assertEq(vault.status(), Status.Settled);
        assertEq(vault.totals().feePaid, 10 * USD);
        assertEq(vault.feeOwed(), 0);
    }

    function test_settle__loss__pays_nothing_and_settles() public {
        _execute(vault, _buy(100 * USD));
        _stop(vault);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Settled(agent, 0, 0, BUDGET - 100 * USD);
        assertEq(_settleBy(keeper), 0);
        assertEq(vault.status(), Status.Settled);
    }

    function test_settle__rounds_the_fee_down() public {
        terms.agentFeeBps = 3_333;
        vault = _createWorking();
        _execute(vault, _give(1));
        _execute(vault, _give(1));
        _stop(vault);
        // 3,333 bps of 2 base units are 0.6666.
        assertEq(_settleBy(keeper), 0);
        relay.pushProceeds(address(vault), 2);
        // And of 4 base units 1.3332.
        assertEq(_settleBy(keeper), 1);
    }

    function test_settle__donations_and_deposits_are_no_gain() public {
        usdc.mint(address(vault), 500 * USD);
        _stop(vault);
        assertEq(_settleBy(keeper), 0);
    }

    function test_settle__again_after_a_later_unwind__pays_the_difference() public {
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _stop(vault);
        vm.prank(owner);
        vault.unwind(_batch(_sell(75 * USD)));
        assertEq(_settleBy(keeper), 5 * USD);

        vm.prank(owner);
        vault.unwind(_batch(_sell(25 * USD)));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Settled(agent, 100 * USD, 5 * USD, BUDGET + 90 * USD);
        assertEq(_settleBy(keeper), 5 * USD);
    }

    function test_settle__again_with_nothing_owed__reverts() public {
        _stop(vault);
        _settleBy(keeper);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NothingToSettle.selector));
        _settleBy(keeper);
    }

    function test_settle__open_board_without_an_agent__owes_nobody() public {
        terms.agent = address(0);
        vault = _createWorking();
        relay.pushProceeds(address(vault), 100 * USD);
        _stop(vault);
        assertEq(_settleBy(keeper), 0);
    }

    // ------------------------------------------------------------------ who and when

    function test_settle__keeper_one_second_before_the_end__reverts() public {
        vm.warp(ENDS_AT - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, ENDS_AT));
        _settleBy(keeper);
    }

    function test_settle__keeper_at_the_end__passes_and_revokes_the_agent() public {
        vm.warp(ENDS_AT);
        _settleBy(keeper);
        assertEq(vault.status(), Status.Settled);
        assertEq(vault.agent(), address(0));
        assertEq(uint256(vault.stoppedAt()), 0);
    }

    function test_settle__owner_after_a_stop__passes() public {
        _stop(vault);
        _settleBy(owner);
        assertEq(vault.status(), Status.Settled);
    }

    function test_settle__owner_without_a_stop_in_the_grace__reverts() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, GRACE_END));
        _settleBy(owner);
    }

    function test_settle__stranger_and_agent_after_a_stop__revert() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, GRACE_END));
        _settleBy(stranger);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, GRACE_END));
        _settleBy(agent);
    }

    function test_settle__stranger_one_second_before_the_grace_is_over__reverts() public {
        vm.warp(GRACE_END - 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleTooEarly.selector, GRACE_END));
        _settleBy(stranger);
    }

    function test_settle__stranger_after_the_grace__passes() public {
        _gain100();
        vm.warp(GRACE_END);
        assertEq(_settleBy(stranger), 10 * USD);
        assertEq(usdc.balanceOf(agent), 10 * USD);
    }

    function test_settle__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        vm.warp(GRACE_END);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        _settleBy(keeper);
    }

    function test_settle__while_the_factory_is_paused__passes() public {
        _stop(vault);
        vm.prank(pauser);
        factory.pause();
        _settleBy(keeper);
        assertEq(vault.status(), Status.Settled);
    }
}
