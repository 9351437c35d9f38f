// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract UnwindTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
        _execute(vault, _buy(100 * USD));
    }

    function _unwind(address who, Call memory call_) private returns (bytes[] memory) {
        vm.prank(who);
        return vault.unwind(_batch(call_));
    }

    function test_unwind__owner_while_working__brings_money_home() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Unwound(
            owner, address(adapter), TestVenueAdapter.sell.selector, 30 * USD, BUDGET - 70 * USD
        );
        bytes[] memory results = _unwind(owner, _sell(30 * USD));

        assertEq(results[0], abi.encode(30 * USD));
        assertEq(vault.totals().received, 30 * USD);
        assertEq(vault.totals().nonce, 1);
    }

    function test_unwind__owner_after_a_stop__passes() public {
        _stop(vault);
        _unwind(owner, _sell(100 * USD));
        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_unwind__owner_in_the_grace__passes() public {
        vm.warp(ENDS_AT);
        _unwind(owner, _sell(USD));
        assertEq(vault.totals().received, USD);
    }

    function test_unwind__after_settling__counts_as_received() public {
        _stop(vault);
        vm.prank(keeper);
        vault.settle();
        _unwind(owner, _sell(USD));
        assertEq(vault.totals().received, USD);
    }

    function test_unwind__several_calls__sum_up() public {
        vm.prank(owner);
        vault.unwind(_batch(_sell(10 * USD), _give(5 * USD)));
        assertEq(vault.totals().received, 15 * USD);
    }

    function test_unwind__income_at_an_unvalued_target__lowers_the_counter() public {
        _execute(vault, _take(50 * USD));
        _unwind(owner, _give(20 * USD));
        assertEq(vault.totals().unvaluedOut, 30 * USD);
    }

    function test_unwind__gives_no_day_back() public {
        _unwind(owner, _sell(100 * USD));
        (, uint256 today,,) = vault.remaining();
        assertEq(today, DAILY - 100 * USD);
    }

    function test_unwind__others__revert() public {
        address[5] memory others = [keeper, agent, admin, pauser, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, others[i]));
            _unwind(others[i], _sell(1));
        }
    }

    function test_unwind__keeper_after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, keeper));
        _unwind(keeper, _sell(1));
    }

    function test_unwind__keeper_after_the_end__reverts() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, keeper));
        _unwind(keeper, _sell(1));
    }

    function test_unwind__spend_rule__reverts() public {
        Call memory call_ = _buy(1);
        call_.maxSpend = 0;
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.NotAnExit.selector, address(adapter), TestVenueAdapter.buy.selector)
        );
        _unwind(owner, call_);
    }

    function test_unwind__unlisted_function__reverts() public {
        Call memory call_ = Call(address(hostile), 0, abi.encodeCall(HostileVenue.pullLater, (address(vault), 1)));
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.TargetNotAllowed.selector, address(hostile), HostileVenue.pullLater.selector
            )
        );
        _unwind(owner, call_);
    }

    function test_unwind__with_a_max_spend__reverts() public {
        Call memory call_ = _sell(1);
        call_.maxSpend = 1;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ExitNotFree.selector, uint256(1)));
        _unwind(owner, call_);
    }

    function test_unwind__pinned_recipient_is_a_thief__reverts() public {
        _stop(vault);
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint8(1),
                bytes32(uint256(uint160(thief)))
            )
        );
        _unwind(owner, _giveTo(USD, thief));
    }

    function test_unwind__balance_falls__reverts() public {
        _clearRules();
        _deployHouse("FaultyUSDC.sol");
        _draftTerms();
        // A listed exit that pulls: only a token which forgets to ask for an allowance lets it.
        ThievingExit thieving = new ThievingExit(address(usdc));
        _addRule(address(thieving), ThievingExit.exit.selector, NO_PIN, KIND_EXIT);
        vault = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverMaxSpend.selector, uint256(5), uint256(0)));
        _unwind(owner, Call(address(thieving), 0, abi.encodeCall(ThievingExit.exit, ())));
    }

    function test_unwind__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        _unwind(owner, _sell(1));
    }

    function test_unwind__empty__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.EmptyBatch.selector));
        vm.prank(owner);
        vault.unwind(new Call[](0));
    }

    function test_unwind__while_the_factory_is_paused__passes() public {
        vm.prank(pauser);
        factory.pause();
        _unwind(owner, _sell(1));
        assertEq(vault.totals().received, 1);
    }
}

contract ThievingExit {
    FaultyUSDC private immutable USDC;

    constructor(address usdc) {
        USDC = FaultyUSDC(usdc);
    }

    function exit() external {
        USDC.setFaults(5, false);
        require(USDC.transferFrom(msg.sender, address(this), 0));
    }
}
