// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

import {CallingPool, QueuedPool} from "../base/Pools.sol";
import "../base/Erc4626Test.sol";

/// @dev Pools that are not as they should be.
contract PoolAttacksTest is Erc4626Test {
    function test_attack__a_rate_that_jumps_up__lifts_no_value() public {
        _lend(100 * USD);
        usdc.mint(address(pool), 100 * BUDGET);
        assertEq(_value(), 100 * USD);
        vm.prank(keeper);
        vault.mark();
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET);
    }

    /// @dev Who lends at a rate that was lifted gets fewer shares, of the same worth: the lift is paid by who lifted it.
    function test_attack__a_deposit_at_a_lifted_rate__costs_the_mandate_nothing() public {
        usdc.mint(address(pool), BUDGET);
        _lend(100 * USD);

        vm.assertLe(100 * USD - 1, _value());
    }

    function test_attack__a_rate_that_jumps_down_and_up_again__fixes_nothing() public {
        _lend(100 * USD);
        pool.lose(550 * USD);
        assertEq(_value(), 50 * USD);
        _lend(10 * USD);
        usdc.mint(address(pool), 560 * USD);

        assertEq(_value(), 110 * USD);
    }

    function test_attack__a_paused_pool__keeps_position_and_value_and_is_left_later() public {
        _lend(100 * USD);
        pool.setPaused(true);
        _expectRevert(abi.encodeWithSelector(FaultyPool.PoolPaused.selector));
        _execute(vault, _redeem(100 * USD * SHARES, 0));
        assertEq(_value(), 100 * USD);
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(FaultyPool.PoolPaused.selector));
        _unwind(_redeem(100 * USD * SHARES, 0));
        pool.setPaused(false);
        _unwind(_redeem(100 * USD * SHARES, 100 * USD));

        assertEq(usdc.balanceOf(address(vault)), BUDGET);
    }

    function test_attack__a_pool_with_a_queue__pays_what_it_has_and_the_rest_is_released() public {
        _usePool("Pools.sol:QueuedPool");
        _lend(100 * USD);
        QueuedPool(address(pool)).setKept(40 * USD);
        uint256 all = 100 * USD * SHARES;
        _expectRevert(
            abi.encodeWithSelector(ERC4626.ERC4626ExceededMaxRedeem.selector, address(lending), all, 40 * USD * SHARES)
        );
        _execute(vault, _redeem(all, 0));
        _execute(vault, _redeem(40 * USD * SHARES, 40 * USD));
        assertEq(_value(), 60 * USD);
        _stop(vault);
        QueuedPool(address(pool)).setKept(0);
        _unwind(_release());

        assertEq(pool.balanceOf(address(vault)), 60 * USD * SHARES);
    }

    function test_attack__a_pool_that_mints_nothing__takes_no_money() public {
        _usePool("Pools.sol:TakingPool");
        uint256 before = usdc.balanceOf(address(vault));
        _expectRevert(_underMinOut(0, 99_500_000));
        _execute(vault, _deposit(100 * USD, 0));

        assertEq(usdc.balanceOf(address(vault)), before);
    }

    function test_attack__a_pool_that_begins_to_charge__is_left_at_the_owners_minimum_or_by_release() public {
        _lend(100 * USD);
        pool.setFees(0, 1_000);
        _expectRevert(_underMinOut(45 * USD, 49_750_000));
        _execute(vault, _redeem(50 * USD * SHARES, 0));
        _stop(vault);
        _unwind(_redeem(50 * USD * SHARES, 45 * USD));
        _unwind(_release());

        assertEq(pool.balanceOf(address(vault)), 50 * USD * SHARES);
    }

    function test_attack__a_pool_that_calls_back__reaches_no_entry() public {
        _usePool("Pools.sol:CallingPool");
        _lend(100 * USD);
        bytes[3] memory entries = [
            abi.encodeCall(lending.deposit, (USD, 0)),
            abi.encodeCall(lending.redeem, (1, 0)),
            abi.encodeCall(lending.release, ())
        ];
        CallingPool calling = CallingPool(address(pool));
        for (uint256 i; i < entries.length; ++i) {
            calling.setHook(address(lending), entries[i]);
            _execute(vault, i == 0 ? _deposit(USD, 0) : _redeem(USD * SHARES, 0));
            assertFalse(calling.answered());
            assertEq(bytes32(bytes4(calling.answer())), bytes32(bytes4(keccak256("ReentrancyGuardReentrantCall()"))));
        }
    }
}
