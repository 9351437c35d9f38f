// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract SellTest is UniswapV3Test {
    uint256 private _held;

    function setUp() public override {
        super.setUp();
        _hold(100 * USD);
        _held = _units();
    }

    function test_sell__a_part__pays_the_vault() public {
        uint256 before = usdc.balanceOf(address(vault));
        bytes memory answer = _execute(vault, _swapBack(_held / 4, 24 * USD));

        uint256 brought = abi.decode(answer, (uint256));
        assertEq(brought, 24_975_043); // a quarter, less the fee twice
        assertEq(usdc.balanceOf(address(vault)), before + brought);
        assertEq(_units(), _held - _held / 4);
        assertEq(token.balanceOf(address(swaps)), _units());
        assertEq(vault.totals().received, brought);
    }

    function test_sell__all__leaves_no_position_and_no_value() public {
        _execute(vault, _swapBack(_held, 0));

        assertEq(_units(), 0);
        assertEq(_value(), 0);
    }

    function test_sell__with_USDC_as_the_pools_first_token() public {
        _useToken(_deployToken("TestToken.sol", false));
        _hold(100 * USD);
        _execute(vault, _swapBack(_units(), 0));

        _assertNear(usdc.balanceOf(address(vault)), BUDGET, 2);
    }

    function test_sell__more_than_the_vault_holds__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, _held + 1, _held));
        _execute(vault, _swapBack(_held + 1, 0));
    }

    function test_sell__of_another_vaults_units__reverts() public {
        terms.nonce += 1;
        MandateVault other = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, uint256(1), uint256(0)));
        _execute(other, _swapBack(1, 0));
    }

    function test_sell__of_nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _execute(vault, _swapBack(0, 0));
    }

    function test_sell__less_than_the_agent_accepts__reverts() public {
        _expectRevert(_underMinOut(24_975_043, 25 * USD));
        _execute(vault, _swapBack(_held / 4, 25 * USD));
    }

    function test_sell__while_it_works_within_the_loss_that_is_accepted__passes() public {
        market.moveTo(2_480 * USD);
        _execute(vault, _swapBack(_held, 0));

        _assertNear(usdc.balanceOf(address(vault)), BUDGET - 0.9 * 1e6, 2);
    }

    function test_sell__while_it_works_above_that_loss__reverts_whatever_the_agent_accepts() public {
        market.moveTo(2_475 * USD);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapBack(_held, 0));
    }

    /// @dev The higher mean is that of thirty minutes, and the price has to be within a hundredth of it.
    function test_sell__after_a_fall_by_half__passes_once_the_means_have_met() public {
        market.moveTo(PRICE / 2);
        _pass(29 minutes);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapBack(_held, 0));
        _pass(45);
        _execute(vault, _swapBack(_held, 0));

        assertEq(_units(), 0);
    }

    function test_sell__after_a_fall_by_a_twentieth__passes_in_25_minutes() public {
        market.moveTo(PRICE * 95 / 100);
        _pass(23 minutes);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _execute(vault, _swapBack(_held, 0));
        _pass(2 minutes);
        _execute(vault, _swapBack(_held, 0));

        assertEq(_units(), 0);
    }

    function test_sell__after_a_rise__passes_at_once() public {
        market.moveTo(PRICE * 2);
        _execute(vault, _swapBack(_held, 0));

        assertEq(_units(), 0);
    }

    function test_sell__once_it_is_stopped__the_owners_own_minimum_binds() public {
        market.moveTo(PRICE / 2);
        _stop(vault);
        vm.expectPartialRevert(ErrorsLib.UnderMinOut.selector);
        _unwind(_swapBack(_held, 50 * USD));
        _unwind(_swapBack(_held, 49 * USD));

        assertEq(_units(), 0);
    }

    function test_sell__once_it_is_stopped__needs_no_valuation() public {
        _breakObservations();
        vm.expectRevert("broken");
        _execute(vault, _swapBack(_held, 0));
        _stop(vault);
        _unwind(_swapBack(_held, 99 * USD));

        assertEq(_units(), 0);
    }
}
