// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract BuyWithAuthorizationTest is ReserveTokenTest {
    bytes32 internal constant SALT = "salt";

    struct Purchase {
        address recipient;
        uint256 amount;
        uint256 minOut;
        bytes32 salt;
    }

    function _purchase() private view returns (Purchase memory) {
        return Purchase(owner, 50 * USD, 0, SALT);
    }

    function _signed(Purchase memory p) private view returns (bytes memory) {
        bytes32 nonce = token.buyNonce(owner, p.recipient, p.amount, p.minOut, p.salt);
        return _authorization(OWNER_KEY, owner, address(token), p.amount, nonce);
    }

    function _submit(Purchase memory p, bytes memory signature) private returns (uint256) {
        vm.prank(stranger);
        return token.buyWithAuthorization(
            owner, p.recipient, p.amount, p.minOut, 0, block.timestamp + 1 hours, p.salt, signature
        );
    }

    function test_buy_with_authorization__anybody_submits_and_the_recipient_gets_it() public {
        Purchase memory p = _purchase();
        uint256 quoted = token.quoteBuy(p.amount);
        bytes memory signature = _signed(p);
        vm.expectEmit(true, true, true, true, address(token));
        emit EventsLib.Bought(owner, owner, p.amount, quoted, 10_200);
        assertEq(_submit(p, signature), quoted);

        assertEq(token.balanceOf(owner), quoted);
        assertEq(token.reserve(), 51 * USD);
    }

    function test_buy_with_authorization__another_recipient_amount_min_out_or_salt__reverts() public {
        bytes memory signature = _signed(_purchase());
        Purchase[4] memory forged = [
            Purchase(thief, 50 * USD, 0, SALT),
            Purchase(owner, 49 * USD, 0, SALT),
            Purchase(owner, 50 * USD, 1, SALT),
            Purchase(owner, 50 * USD, 0, bytes32("other"))
        ];
        for (uint256 i; i < forged.length; ++i) {
            vm.prank(stranger);
            vm.expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
            token.buyWithAuthorization(
                owner,
                forged[i].recipient,
                forged[i].amount,
                forged[i].minOut,
                0,
                block.timestamp + 1 hours,
                forged[i].salt,
                signature
            );
        }
    }

    function test_buy_with_authorization__twice__reverts() public {
        Purchase memory p = _purchase();
        bytes memory signature = _signed(p);
        _submit(p, signature);
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: authorization is used or canceled"));
        token.buyWithAuthorization(
            owner, p.recipient, p.amount, p.minOut, 0, block.timestamp + 1 hours, p.salt, signature
        );
    }

    function test_buy_with_authorization__while_paused__reverts() public {
        Purchase memory p = _purchase();
        bytes memory signature = _signed(p);
        vm.prank(pauser);
        token.pause();
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSignature("EnforcedPause()"));
        token.buyWithAuthorization(
            owner, p.recipient, p.amount, p.minOut, 0, block.timestamp + 1 hours, p.salt, signature
        );
    }

    function test_buy_nonce__has_chain_and_token_inside() public {
        bytes32 here = token.buyNonce(owner, owner, 1, 0, SALT);
        vm.chainId(1);
        assertTrue(token.buyNonce(owner, owner, 1, 0, SALT) != here);
        vm.chainId(31_337);
        assertTrue(_deployToken().buyNonce(owner, owner, 1, 0, SALT) != here);
    }
}
