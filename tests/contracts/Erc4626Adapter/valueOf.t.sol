// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract ValueOfTest is Erc4626Test {
    function setUp() public override {
        super.setUp();
        _lend(100 * USD);
    }

    function test_valueOf__a_gain_within_the_bound__counts_whole() public {
        vm.warp(block.timestamp + 365 days);
        usdc.mint(address(pool), 110 * USD); // a tenth

        assertEq(_value(), 109_999_999);
    }

    function test_valueOf__grows_by_a_fifth_a_year_at_most() public {
        usdc.mint(address(pool), 10 * BUDGET);
        assertEq(_value(), 100 * USD);
        vm.warp(block.timestamp + 365 days / 2);
        assertEq(_value(), 110 * USD);
        vm.warp(block.timestamp + 365 days / 2);
        assertEq(_value(), 120 * USD);
    }

    function test_valueOf__what_came_later_grows_later() public {
        vm.warp(block.timestamp + 365 days / 2);
        usdc.mint(address(pool), 10 * BUDGET);
        _lend(50 * USD);
        assertEq(_value(), 160 * USD);
        vm.warp(block.timestamp + 365 days / 2);

        assertEq(_value(), 176 * USD);
    }

    function test_valueOf__a_loss_counts_at_once() public {
        pool.lose(220 * USD); // a fifth

        assertEq(_value(), 80 * USD);
    }

    function test_valueOf__a_loss_stops_the_mandate_at_its_line() public {
        _lend(100 * USD);
        _lend(100 * USD);
        pool.lose(1_300 * USD - 433 * USD);
        vm.prank(keeper);
        vault.mark();

        assertEq(vault.status(), Status.Stopped);
    }

    function test_valueOf__the_exit_fee_is_taken_off() public {
        lending = _deployAdapter(30);
        _clearRules();
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();
        _lend(100 * USD);

        assertEq(_value(), 99_700_000);
    }

    function test_valueOf__of_a_pool_that_does_not_say_its_rate__reverts() public {
        pool.setSilent(true);
        vm.expectRevert(abi.encodeWithSelector(FaultyPool.PoolPaused.selector));
        lending.valueOf(address(vault));
    }

    function test_valueOf__of_nobody__is_zero_whatever_the_pool_says() public {
        pool.setSilent(true);

        assertEq(lending.valueOf(stranger), 0);
    }

    function testFuzz_valueOf__is_never_above_what_was_paid_and_its_growth(uint256 gift, uint256 later, uint256 part)
        public
    {
        usdc.mint(address(pool), gift % (10 * BUDGET));
        vm.warp(block.timestamp + later % 730 days);
        uint256 bound = 100 * USD + 100 * USD * GROWTH_BPS * (block.timestamp - NOW) / (10_000 * 365 days);
        vm.assertLe(_value(), bound);
        uint256 shares = 1 + part % (100 * USD * SHARES - 1);
        uint256 before = _value();
        _execute(vault, _redeem(shares, 0));

        vm.assertLe(_value(), before);
    }
}
