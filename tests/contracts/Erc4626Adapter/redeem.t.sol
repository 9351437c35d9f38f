// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract RedeemTest is Erc4626Test {
    function setUp() public override {
        super.setUp();
        _lend(100 * USD);
    }

    function test_redeem__a_part__pays_the_vault_and_lowers_the_ceiling_by_that_part() public {
        uint256 before = usdc.balanceOf(address(vault));
        bytes memory answer = _execute(vault, _redeem(25 * USD * SHARES, 25 * USD));

        assertEq(abi.decode(answer, (uint256)), 25 * USD);
        assertEq(usdc.balanceOf(address(vault)), before + 25 * USD);
        assertEq(lending.positionOf(address(vault)), 75 * USD * SHARES);
        assertEq(lending.ceilingOf(address(vault)), 75 * USD);
    }

    function test_redeem__all__leaves_no_position_and_no_value() public {
        _execute(vault, _redeem(100 * USD * SHARES, 0));

        assertEq(lending.positionOf(address(vault)), 0);
        assertEq(lending.ceilingOf(address(vault)), 0);
        assertEq(_value(), 0);
    }

    function test_redeem__more_than_the_vault_holds__reverts() public {
        uint256 held = 100 * USD * SHARES;
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, held + 1, held));
        _execute(vault, _redeem(held + 1, 0));
    }

    function test_redeem__of_another_vaults_shares__reverts() public {
        terms.nonce += 1;
        MandateVault other = _createWorking();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPosition.selector, uint256(1), uint256(0)));
        _execute(other, _redeem(1, 0));
    }

    function test_redeem__of_nothing__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _execute(vault, _redeem(0, 0));
    }

    function test_redeem__less_than_the_agent_accepts__reverts() public {
        _expectRevert(_underMinOut(USD, USD + 1));
        _execute(vault, _redeem(USD * SHARES, USD + 1));
    }

    function test_redeem__while_it_works_at_the_loss_that_is_accepted__passes() public {
        pool.setFees(0, LOSS_BPS);
        _execute(vault, _redeem(100 * USD * SHARES, 0));

        assertEq(_value(), 0);
    }

    function test_redeem__while_it_works_above_that_loss__reverts_whatever_the_agent_accepts() public {
        pool.setFees(0, LOSS_BPS + 1);
        _expectRevert(_underMinOut(99_490_000, 99_500_000));
        _execute(vault, _redeem(100 * USD * SHARES, 0));
    }

    function test_redeem__once_it_is_stopped__the_owners_own_minimum_binds() public {
        pool.setFees(0, 5_000);
        _stop(vault);
        _expectRevert(_underMinOut(50 * USD, 50 * USD + 1));
        _unwind(_redeem(100 * USD * SHARES, 50 * USD + 1));
        _unwind(_redeem(100 * USD * SHARES, 50 * USD));

        assertEq(usdc.balanceOf(address(vault)), BUDGET - 50 * USD);
    }

    function test_redeem__a_gain_above_the_ceiling__comes_home_whole() public {
        usdc.mint(address(pool), BUDGET + 100 * USD);
        assertEq(_value(), 100 * USD);
        _execute(vault, _redeem(100 * USD * SHARES, 0));

        assertEq(vault.totals().received, 199_999_999);
    }
}
