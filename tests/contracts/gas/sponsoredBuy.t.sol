// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {SponsoredBuyTest, SponsoredBuy} from "../base/SponsoredBuyTest.sol";
import "./GasTest.sol";

/// @dev A first purchase writes the recipient's balance where none was; the treasury holds USDC already, and somebody
/// else has bought before.
contract SponsoredBuyGas is SponsoredBuyTest, GasTest {
    function setUp() public override(Test, SponsoredBuyTest) {
        SponsoredBuyTest.setUp();
        usdc.mint(treasury, USD);
        vm.prank(owner);
        token.buy(USD, 0, stranger);
    }

    function test_gas__sponsored_buy__the_first_of_a_recipient() public {
        _measure("sponsored_buy_first");
        assertEq(usdc.balanceOf(treasury), USD + FEE);
    }

    function test_gas__sponsored_buy__of_a_holder() public {
        _bought(100 * USD);
        _measure("sponsored_buy");
        assertEq(usdc.balanceOf(treasury), USD + FEE);
    }

    function _measure(string memory workload) private {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        uint256 validBefore = _before();
        vm.prank(sponsor);
        batch.buy(p, f, validBefore);
        _record(workload);
    }
}
