// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract ConvertTest is ReserveTokenTest {
    bytes32 internal constant ACCOUNT = "account-1";

    function setUp() public override {
        super.setUp();
        _bought(102 * USD); // 10,000 tokens; 103 USDC back 10,100
        _unlock();
    }

    function test_convert__burns_and_owes_the_share_to_the_treasury() public {
        // 103 x 5,000 / 10,100 = 50.9900990...
        uint256 share = 50_990_099;
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.ConvertedToCredit(owner, ACCOUNT, 5_000e18, share);
        vm.prank(owner);
        assertEq(token.convert(5_000e18, ACCOUNT), share);

        assertEq(token.balanceOf(owner), 5_000e18);
        assertEq(token.totalSupply(), 5_100e18);
        assertEq(token.treasuryOwed(), share);
        assertEq(token.reserve(), 52_009_901);
    }

    function test_convert__moves_no_usdc() public {
        uint256 before = usdc.balanceOf(owner);
        vm.prank(owner);
        token.convert(5_000e18, ACCOUNT);

        assertEq(usdc.balanceOf(address(token)), 103 * USD);
        assertEq(usdc.balanceOf(treasury), 0);
        assertEq(usdc.balanceOf(owner), before);
    }

    function test_convert__leaves_the_price_as_it_was() public {
        assertEq(token.redeemPrice(), 10_198);
        vm.prank(owner);
        token.convert(5_000e18, ACCOUNT);
        assertEq(token.redeemPrice(), 10_198);
        assertEq(token.buyPrice(), 10_402);
    }

    function test_convert__is_worth_what_a_redemption_would_pay() public {
        uint256 quoted = token.quoteRedeem(7_777e18);
        vm.prank(owner);
        assertEq(token.convert(7_777e18, ACCOUNT), quoted);
    }

    function test_convert__adds_to_what_is_owed() public {
        vm.startPrank(owner);
        uint256 first = token.convert(1_000e18, ACCOUNT);
        uint256 second = token.convert(2_000e18, "account-2");
        assertEq(first, 10_198_019);
        assertEq(second, 20_396_039);
        assertEq(token.treasuryOwed(), 30_594_058);
    }

    function test_convert__everything_that_is_held__leaves_the_seed_with_more_than_it_had() public {
        vm.prank(owner);
        assertEq(token.convert(10_000e18, ACCOUNT), 101_980_198);
        assertEq(token.totalSupply(), SEED);
        assertEq(token.reserve(), 1_019_802);
    }

    function test_convert__a_share_of_nothing__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.convert(0, ACCOUNT);
        // 98,058,252,427,184 wei are worth less than a base unit of USDC, one wei more is worth one.
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        token.convert(98_058_252_427_184, ACCOUNT);
        vm.prank(owner);
        assertEq(token.convert(98_058_252_427_185, ACCOUNT), 1);
    }

    function test_convert__for_no_account__reverts() public {
        vm.prank(owner);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.NoAccount.selector));
        token.convert(ONE, 0);
    }

    function test_convert__while_paused__is_not_held_up() public {
        vm.prank(pauser);
        token.pause();
        vm.prank(owner);
        token.convert(ONE, ACCOUNT);
        assertEq(token.totalSupply(), 10_099e18);
    }

    function test_convert__one_unit_more_than_is_held__reverts() public {
        vm.prank(owner);
        vm.expectRevert(_insufficientBalance(owner, 10_000e18, 10_000e18 + 1));
        token.convert(10_000e18 + 1, ACCOUNT);
    }

    function test_convert__more_than_there_are__reverts_with_the_holding() public {
        vm.prank(owner);
        vm.expectRevert(_insufficientBalance(owner, 10_000e18, 20_000e18));
        token.convert(20_000e18, ACCOUNT);
    }

    function testFuzz_convert__never_lowers_the_price_and_keeps_all_money_booked(uint256 bought, uint256 amount)
        public
    {
        _bought(1 + bought % (1_000 * USD));
        vm.warp(block.timestamp + bought % 25 hours);
        amount = 1e14 + amount % (token.balanceOf(owner) - 1e14);
        (uint256 reserve, uint256 supply) = (token.reserve(), token.totalSupply());
        uint256 locked = _lockedNow();
        vm.prank(owner);
        uint256 paid = token.convert(amount, ACCOUNT);

        assertEq(token.reserve() + paid, reserve);
        assertEq(token.reserve() + token.treasuryOwed(), usdc.balanceOf(address(token)));
        vm.assertLe((reserve - locked) * token.totalSupply(), (token.reserve() - locked) * supply);
        assertEq(_lockedNow(), locked);
    }
}
