// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {SponsoredBuy} from "../../../contracts/SponsoredBuy.sol";
import "./ReserveTokenTest.sol";

/// @notice The owner buys for 50 USDC with a fee of 0.02 USDC; `sponsor` submits.
abstract contract SponsoredBuyTest is ReserveTokenTest {
    bytes32 internal constant SALT = "salt";
    uint256 internal constant AMOUNT = 50 * USD;
    uint256 internal constant FEE = 20_000;

    SponsoredBuy internal batch;
    address internal sponsor = address(0x5904);

    function setUp() public virtual override {
        super.setUp();
        batch = SponsoredBuy(vm.deployCode("SponsoredBuy.sol", abi.encode(address(token))));
    }

    function _purchase() internal view returns (SponsoredBuy.Purchase memory) {
        return _purchase(0);
    }

    function _purchase(uint256 minOut) internal view returns (SponsoredBuy.Purchase memory) {
        bytes32 nonce = token.buyNonce(owner, owner, AMOUNT, minOut, SALT);
        return SponsoredBuy.Purchase({
            from: owner,
            recipient: owner,
            amountUsdc: AMOUNT,
            minOut: minOut,
            salt: SALT,
            signature: _authorization(OWNER_KEY, owner, address(token), AMOUNT, nonce)
        });
    }

    function _fee(SponsoredBuy.Purchase memory p) internal view returns (SponsoredBuy.Fee memory) {
        return _fee(p, OWNER_KEY, treasury, FEE);
    }

    function _fee(SponsoredBuy.Purchase memory p, uint256 key, address to, uint256 amount)
        internal
        view
        returns (SponsoredBuy.Fee memory)
    {
        bytes32 structHash = keccak256(
            abi.encode(
                usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(),
                owner,
                to,
                amount,
                uint256(0),
                _before(),
                _feeNonce(p, amount)
            )
        );
        return SponsoredBuy.Fee(amount, _sign(key, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash)));
    }

    function _feeNonce(SponsoredBuy.Purchase memory p, uint256 amount) internal view returns (bytes32) {
        return batch.feeNonce(token.buyNonce(p.from, p.recipient, p.amountUsdc, p.minOut, p.salt), amount);
    }

    function _before() internal view returns (uint256) {
        return block.timestamp + 1 hours;
    }

    function _submit(SponsoredBuy.Purchase memory p, SponsoredBuy.Fee memory f) internal returns (uint256) {
        uint256 validBefore = _before();
        vm.prank(sponsor);
        return batch.buy(p, f, validBefore);
    }

    function _expectError(string memory reason) internal {
        vm.expectRevert(abi.encodeWithSignature("Error(string)", reason));
    }
}
