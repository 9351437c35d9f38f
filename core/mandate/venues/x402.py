"""Payments for web resources: the guard signs each, and they are costs, no position.

Source: contracts/adapters/X402Adapter.sol.
"""

from core.chain.abi import FunctionAbi, function
from core.mandate.venues.registry import Creation, Venue

VENUE = Venue(
    name="x402",
    contract="X402Adapter",
    title="Paid reads",
    does="Pays this service for reads, one signed payment at a time; what is paid is spent.",
    creation=Creation(
        ("factory",), (("USDC", "usdc"), ("factory", "factory")), domain="Mandate Wallet x402"
    ),
    takes_payments=True,
)


def pay(
    pay_to: str, amount: int, resource_hash: str, nonce: str, deadline: int, guard_signature: str
) -> str:
    return function(VENUE.contract, "pay").encode(
        pay_to, amount, resource_hash, nonce, deadline, guard_signature
    )


def is_nonce_used() -> FunctionAbi:
    """Of (vault, nonce)."""
    return function(VENUE.contract, "isNonceUsed")
