"""What a buyer signs, and what the sponsor sends: EIP-3009 documents of USDC, and call data.

The purchase's nonce is ReserveToken.buyNonce, the fee's SponsoredBuy.feeNonce, computed here as the
contracts do; tests hold the two together.
"""

from eth_abi.abi import encode as abi_encode
from eth_utils.crypto import keccak

from core.chain.abi import function
from core.hexes import bytes_of, hex_of
from core.mandate.chain import typed_data
from core.sponsored.rules import BuyPart
from core.sponsored.tables import SponsoredBuy


def buy_nonce(
    chain_id: int, token: str, buyer: str, recipient: str, amount: int, least: int, salt: str
) -> str:
    """ReserveToken.buyNonce."""
    kinds = ["uint256", "address", "address", "address", "uint256", "uint256", "bytes32"]
    values = [chain_id, token, buyer, recipient, amount, least, bytes_of(salt)]
    return hex_of(keccak(abi_encode(kinds, values)))


def fee_nonce(chain_id: int, batch: str, of_buy: str, fee: int) -> str:
    """SponsoredBuy.feeNonce."""
    kinds = ["uint256", "address", "bytes32", "uint256"]
    return hex_of(keccak(abi_encode(kinds, [chain_id, batch, bytes_of(of_buy), fee])))


def purchase_document(usdc: str, buy: SponsoredBuy) -> typed_data.TypedDocument:
    """ReceiveWithAuthorization to the reserve token."""
    paid = (buy.reserve_token, buy.amount_usdc_e6, 0, buy.valid_before, buy.buy_nonce)
    message = (usdc, buy.chain_id, buy.buyer, *paid)
    return typed_data.receive_authorization(*message)


def fee_document(usdc: str, buy: SponsoredBuy) -> typed_data.TypedDocument:
    """TransferWithAuthorization to the token's treasury."""
    paid = (buy.treasury, buy.fee_usdc_e6, 0, buy.valid_before, buy.fee_nonce)
    message = (usdc, buy.chain_id, buy.buyer, *paid)
    return typed_data.transfer_authorization(*message)


def call_of(buy: SponsoredBuy, part: BuyPart) -> tuple[str, str]:
    """(contract, call data) of an accepted buy."""
    assert buy.purchase_signature is not None, "only an accepted buy is sent"
    terms = (buy.buyer, buy.recipient, buy.amount_usdc_e6, buy.min_tokens)
    signed = (buy.salt, buy.purchase_signature)
    if part is BuyPart.PURCHASE:
        purchase = function("ReserveToken", "buyWithAuthorization")
        return buy.reserve_token, purchase.encode(*terms, 0, buy.valid_before, *signed)
    fee = (buy.fee_usdc_e6, buy.fee_signature)
    batch = function("SponsoredBuy", "buy")
    return buy.batch, batch.encode((*terms, *signed), fee, buy.valid_before)
