// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/SponsoredBuyTest.sol";

contract SponsoredBuyBuyTest is SponsoredBuyTest {
    string private constant USED = "FiatTokenV2: authorization is used or canceled";
    string private constant INVALID = "FiatTokenV2: invalid signature";

    function test_buy__both_authorizations__pays_fee_and_mints() public {
        SponsoredBuy.Purchase memory p = _purchase();
        uint256 had = usdc.balanceOf(owner);
        uint256 quoted = token.quoteBuy(AMOUNT);

        assertEq(_submit(p, _fee(p)), quoted);

        assertEq(token.balanceOf(owner), quoted);
        assertEq(usdc.balanceOf(treasury), FEE);
        assertEq(usdc.balanceOf(owner), had - AMOUNT - FEE);
        assertEq(token.reserve(), AMOUNT + USD);
        assertEq(usdc.balanceOf(address(batch)), 0);
    }

    function test_buy__anybody_submits() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        uint256 validBefore = _before();
        vm.prank(thief);
        batch.buy(p, f, validBefore);
        assertEq(usdc.balanceOf(thief), 0);
        assertEq(usdc.balanceOf(treasury), FEE);
    }

    function test_buy__twice__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        _submit(p, f);
        uint256 validBefore = _before();
        vm.prank(sponsor);
        _expectError(USED);
        batch.buy(p, f, validBefore);
    }

    // ------------------------------------------------------------------ what the buyer did not sign

    function test_buy__another_fee__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        f.amountUsdc += 1;
        _refused(p, f, INVALID);
    }

    function test_buy__fee_signed_by_another__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        _refused(p, _fee(p, AGENT_KEY, treasury, FEE), INVALID);
    }

    function test_buy__fee_signed_to_another_payee__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        _refused(p, _fee(p, OWNER_KEY, thief, FEE), INVALID);
    }

    function test_buy__fee_of_another_purchase__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        _refused(p, _fee(_purchase(1)), INVALID);
    }

    function test_buy__another_recipient__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        p.recipient = thief;
        _refused(p, f, INVALID);
    }

    function test_buy__another_amount__reverts_and_no_fee_is_paid() public {
        SponsoredBuy.Purchase memory p = _purchase();
        p.amountUsdc -= 1;
        _refused(p, _fee(p), INVALID);
        assertEq(usdc.balanceOf(treasury), 0);
    }

    function test_buy__one_signature_missing__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        p.signature = "";
        _refused(p, f, INVALID);
    }

    // ------------------------------------------------------------------ what happened meanwhile

    function test_buy__fee_submitted_alone_before__reverts_and_the_purchase_is_still_good() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        usdc.transferWithAuthorization(owner, treasury, FEE, 0, _before(), _feeNonce(p, FEE), f.signature);
        _refused(p, f, USED);

        token.buyWithAuthorization(owner, owner, AMOUNT, 0, 0, _before(), SALT, p.signature);
        assertEq(usdc.balanceOf(treasury), FEE);
        assertEq(token.reserve(), AMOUNT + USD);
    }

    function test_buy__purchase_submitted_alone_before__reverts_and_no_fee_is_paid() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        token.buyWithAuthorization(owner, owner, AMOUNT, 0, 0, _before(), SALT, p.signature);
        _refused(p, f, USED);
        assertEq(usdc.balanceOf(treasury), 0);
    }

    function test_buy__price_rose_past_min_out__reverts_and_no_fee_is_paid() public {
        uint256 quoted = token.quoteBuy(AMOUNT);
        SponsoredBuy.Purchase memory p = _purchase(quoted);
        SponsoredBuy.Fee memory f = _fee(p);
        vm.prank(owner);
        token.buy(10 * USD, 0, owner);
        uint256 now_ = token.quoteBuy(AMOUNT);
        uint256 validBefore = _before();
        vm.prank(sponsor);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.UnderMinOut.selector, now_, quoted));
        batch.buy(p, f, validBefore);
        assertEq(usdc.balanceOf(treasury), 0);
    }

    function test_buy__treasury_changed__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        vm.prank(admin);
        token.proposeTreasury(address(0x7EA6));
        vm.warp(block.timestamp + 48 hours);
        vm.prank(admin);
        token.changeTreasury();
        SponsoredBuy.Purchase memory fresh = _purchase();
        _refused(fresh, _fee(fresh), INVALID);
        assertEq(p.amountUsdc, fresh.amountUsdc);
    }

    function test_buy__while_paused__reverts_and_no_fee_is_paid() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        vm.prank(pauser);
        token.pause();
        uint256 validBefore = _before();
        vm.prank(sponsor);
        vm.expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        batch.buy(p, f, validBefore);
        assertEq(usdc.balanceOf(treasury), 0);
    }

    function test_buy__at_valid_before__reverts() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        uint256 validBefore = _before();
        vm.warp(validBefore);
        vm.prank(sponsor);
        _expectError("FiatTokenV2: authorization is expired");
        batch.buy(p, f, validBefore);
    }

    function test_buy__a_second_before_valid_before__buys() public {
        SponsoredBuy.Purchase memory p = _purchase();
        SponsoredBuy.Fee memory f = _fee(p);
        uint256 validBefore = _before();
        vm.warp(validBefore - 1);
        vm.prank(sponsor);
        batch.buy(p, f, validBefore);
        assertEq(usdc.balanceOf(treasury), FEE);
    }

    // ------------------------------------------------------------------ creation and nonce

    function test_constructor__no_code__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0xABCD)));
        new SponsoredBuy(address(0xABCD));
    }

    function test_constructor__takes_usdc_from_the_token() public view {
        assertEq(address(batch.USDC()), address(usdc));
        assertEq(address(batch.RESERVE()), address(token));
    }

    function test_fee_nonce__has_chain_contract_purchase_and_fee_inside() public {
        bytes32 here = batch.feeNonce("buy", FEE);
        assertTrue(batch.feeNonce("other", FEE) != here);
        assertTrue(batch.feeNonce("buy", FEE + 1) != here);
        assertTrue(new SponsoredBuy(address(token)).feeNonce("buy", FEE) != here);
        vm.chainId(1);
        assertTrue(batch.feeNonce("buy", FEE) != here);
    }

    function _refused(SponsoredBuy.Purchase memory p, SponsoredBuy.Fee memory f, string memory why) private {
        uint256 validBefore = _before();
        vm.prank(sponsor);
        _expectError(why);
        batch.buy(p, f, validBefore);
    }
}
