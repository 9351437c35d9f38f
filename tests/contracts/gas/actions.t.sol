// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./GasTest.sol";

/// @dev One transaction of each kind, on a vault that has logs already.
contract ActionsGas is GasTest {
    MandateVault private vault;

    function setUp() public override {
        super.setUp();
        _draftThreeRules();
        vault = _createWorking();
        _execute(vault, _buy(9 * USD));
    }

    function test_gas__deposit__the_second_of_a_budget() public {
        terms.nonce = 2;
        MandateVault other = _createEmpty();
        vm.prank(owner);
        usdc.approve(address(other), BUDGET);
        vm.prank(owner);
        other.deposit(USD);
        vm.prank(owner);
        other.deposit(USD);
        _record("deposit");
        assertEq(other.totals().deposited, 2 * USD);
    }

    function test_gas__mark__above_the_floor() public {
        vm.prank(keeper);
        vault.mark();
        _record("mark");
        assertEq(vault.status(), Status.Working);
    }

    function test_gas__mark__that_stops() public {
        _loseAll();
        vm.prank(keeper);
        vault.mark();
        _record("mark_and_stop");
        assertEq(vault.status(), Status.Stopped);
    }

    function test_gas__enforceStopLine__by_anyone() public {
        _loseAll();
        vm.prank(stranger);
        vault.enforceStopLine();
        _record("enforce_stop_line");
        assertEq(vault.status(), Status.Stopped);
    }

    function _loseAll() private {
        for (uint256 i; i < 2; ++i) {
            _execute(vault, _buy(PER_TX));
        }
        vm.warp(NOW + 1 days);
        _execute(vault, _buy(PER_TX));
        vm.prank(operator);
        venue.setPrice(1);
    }

    function test_gas__pay__a_resource_by_x402() public {
        bytes memory signature =
            _sign(GUARD_KEY, x402.paymentDigest(address(vault), stranger, USD, "resource", "nonce", NOW + 60));
        bytes memory data = abi.encodeCall(X402Adapter.pay, (stranger, USD, "resource", "nonce", NOW + 60, signature));
        _execute(vault, Call(address(x402), USD, data));
        _record("x402_payment");
        assertEq(usdc.balanceOf(stranger), USD);
    }

    function test_gas__stop__by_the_agent() public {
        vm.prank(agent);
        vault.stop("enough");
        _record("stop");
        assertEq(vault.status(), Status.Stopped);
    }

    function test_gas__settle__without_a_gain() public {
        vm.prank(owner);
        vault.stop("enough");
        vm.prank(owner);
        vault.settle();
        _record("settle");
        assertEq(vault.status(), Status.Settled);
    }

    function test_gas__withdraw__after_a_stop() public {
        vm.prank(owner);
        vault.stop("enough");
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, USD);
        _record("withdraw");
        assertEq(vault.totals().withdrawn, USD);
    }
}
