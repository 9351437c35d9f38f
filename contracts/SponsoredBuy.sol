// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IReserveToken} from "./interfaces/IReserveToken.sol";
import {IUSDCTransfers} from "./interfaces/IUSDCTransfers.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";

/// @title SponsoredBuy
/// @notice A purchase of reserve tokens whose gas somebody else pays, for a fee in USDC: both in one transaction, or
/// neither.
///
/// - The buyer signs two EIP-3009 authorizations: the net amount to the reserve token, and the fee to its treasury.
/// - Whoever submits them can change nothing: the purchase's nonce names recipient, amount and minOut (ReserveToken), and
///   the fee's nonce names the purchase's. The fee goes to the treasury of the moment; after a change of treasury the
///   signature is no longer good, and nothing moves.
/// - This contract holds no money, has no office and no allowance, and keeps nothing.
///
/// NOT GUARANTEED
/// - That the two happen together: each authorization can be submitted alone by anyone who sees it, to the token itself.
///   Then this call reverts, since an authorization is used once; docs/sponsored-buys.md says what follows.
contract SponsoredBuy {
    /// @notice What is bought. Amounts are USDC base units, minOut is 1e-18 tokens; `signature` is the buyer's
    /// ReceiveWithAuthorization.
    struct Purchase {
        address from;
        address recipient;
        uint256 amountUsdc;
        uint256 minOut;
        bytes32 salt;
        bytes signature;
    }

    /// @notice What the gas costs the buyer, USDC base units; `signature` is the buyer's TransferWithAuthorization.
    struct Fee {
        uint256 amountUsdc;
        bytes signature;
    }

    IReserveToken public immutable RESERVE;
    IUSDCTransfers public immutable USDC;

    constructor(address reserveToken) {
        if (reserveToken.code.length == 0) revert ErrorsLib.BadAddress(reserveToken);
        RESERVE = IReserveToken(reserveToken);
        USDC = IUSDCTransfers(IReserveToken(reserveToken).usdc());
    }

    /// @notice Pays the fee and buys. Both authorizations are good from the beginning of time to before `validBefore`,
    /// exclusive.
    /// @return out Tokens that the recipient got, 1e-18.
    function buy(Purchase calldata purchase, Fee calldata fee, uint256 validBefore) external returns (uint256 out) {
        bytes32 nonce = feeNonce(
            RESERVE.buyNonce(purchase.from, purchase.recipient, purchase.amountUsdc, purchase.minOut, purchase.salt),
            fee.amountUsdc
        );
        USDC.transferWithAuthorization(
            purchase.from, RESERVE.treasury(), fee.amountUsdc, 0, validBefore, nonce, fee.signature
        );
        out = RESERVE.buyWithAuthorization(
            purchase.from,
            purchase.recipient,
            purchase.amountUsdc,
            purchase.minOut,
            0,
            validBefore,
            purchase.salt,
            purchase.signature
        );
    }

    /// @notice The EIP-3009 nonce of the fee for a purchase: chain, this contract and the fee are inside.
    function feeNonce(bytes32 buyNonce, uint256 feeUsdc) public view returns (bytes32) {
        return keccak256(abi.encode(block.chainid, address(this), buyNonce, feeUsdc));
    }
}
