"""Commands and answers of sponsored buys and of the price of gas (docs/sponsored-buys.md)."""

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from api.kernel.fields import (
    WHOLE,
    Address,
    InstantText,
    KeySignature,
    PositiveUsdc,
    positive_usdc_schema,
)
from api.kernel.operation import AnswerBody, Command
from core.sponsored.prices import EthSource
from core.sponsored.rules import DEFAULT_RISE_BPS, MOST_RISE_BPS, AuthorizationState, BuyState

TOKENS = "with eighteen decimals, like all tokens under /reserve"
BASE_UNITS = "the same amount in base units of 1e-18, as contracts take it"
ETH_USD = "price used for 1 ETH, USD; with source market the median over exchanges plus 5 %"
SOURCE = "market: median over exchanges; fixed: set by the operator"
ETH_AS_OF = "time of the oldest price in the median; null: the figure is fixed"

BUYERS = "65 bytes r, s, v of the buyer's own key, or 64 (EIP-2098); s in the lower half"


class PrepareBuy(Command):
    usd: Annotated[PositiveUsdc, WithJsonSchema(positive_usdc_schema(6))] = Field(
        description="USDC to spend on tokens, at least 5.000000; the gas fee is added"
    )
    buyer: Address = Field(description="the wallet that pays and signs: an EOA, not a contract")
    recipient: Address | None = Field(
        default=None, description="who receives the tokens; null: buyer"
    )
    max_rise_bps: Annotated[int, Field(ge=0, le=MOST_RISE_BPS), WHOLE] = Field(
        default=DEFAULT_RISE_BPS,
        description="how far the price may rise before the purchase is refused, in basis points",
    )


class GasQuote(AnswerBody):
    """Wei amounts are text, since JSON numbers cannot hold them exactly."""

    base_fee_wei: str
    priority_fee_wei: str
    layer_1_fee_wei: str = Field(description="upper bound of the layer 1 fee for the bytes")
    gas: int
    covers_wei: str = Field(description="the most that the fee pays for: the cost plus a quarter")
    eth_usd: str = Field(description=ETH_USD)
    source: EthSource = Field(description=SOURCE)
    eth_as_of: str | None = Field(description=ETH_AS_OF)


class PreparedBuy(AnswerBody):
    """Times are UTC. Sign both documents unchanged, and submit them before `expires_at`."""

    id: str
    amount_usdc: str
    fee_usdc: str = Field(description="the gas fee to sign, in USDC")
    credit_usdc: str = Field(description="USDC by which fees owed to the buyer reduced the fee")
    total_usdc: str
    treasury: str
    recipient: str = Field(description="address that receives the tokens")
    batch: str = Field(description="address of the SponsoredBuy contract")
    salt: str = Field(
        description="salt for ReserveToken.buyNonce; use it to recompute both nonces, which "
        "commit to recipient, min_tokens_base and fee"
    )
    tokens: str = Field(description=f"what the purchase would mint now, {TOKENS}")
    tokens_base: str = Field(description=BASE_UNITS)
    min_tokens: str = Field(description=f"the least that it may mint, {TOKENS}")
    min_tokens_base: str = Field(description=BASE_UNITS)
    purchase: dict[str, Any] = Field(description="typed data for eth_signTypedData_v4")
    fee: dict[str, Any] = Field(description="typed data for eth_signTypedData_v4")
    gas: GasQuote
    expires_at: InstantText
    valid_before: str = Field(description="time from which neither authorization is valid")


class HandInBuy(Command):
    id: Annotated[str, Field(pattern=r"^sb_[a-z2-7]{16}$")]
    purchase_signature: KeySignature = Field(description=BUYERS)
    fee_signature: KeySignature = Field(description=BUYERS)


class BuyById(Command):
    id: Annotated[str, Field(pattern=r"^sb_[a-z2-7]{16}$")]


class BuyTransfer(AnswerBody):
    kind: str = Field(description="purchase, or fee for gas")
    amount_usdc: str
    to_address: str
    state: AuthorizationState
    is_final: bool = Field(description="true: proved in a safe block; it will not change")
    why: str | None = Field(
        description="for a dead transfer: cancelled, elsewhere or lapsed; for an open one: "
        "disputed, when the service's nodes disagree about it"
    )
    tx_hash: str | None
    tokens: str | None = Field(description=f"what the purchase minted, {TOKENS}; null: nothing")


class SponsoredBuyState(AnswerBody):
    id: str
    state: BuyState
    is_final: bool
    sending: str | None = Field(
        description="state of the service's transaction; null before the buy is submitted"
    )
    transfers: list[BuyTransfer]
    owed_usdc: str = Field(
        description="USDC by which the buyer's next fee is reduced, since this buy's fee paid for "
        "nothing"
    )
    next: str
    expires_at: InstantText
    valid_before: str


class GasRow(AnswerBody):
    action: str
    gas: int
    layer_2_wei: str
    layer_1_wei: str
    usdc: str = Field(description="cost in USDC, rounded up")


class GasTable(AnswerBody):
    as_of: str = Field(description="when the node was asked")
    good_until: str = Field(description="until then this answer is reused")
    base_fee_wei: str
    priority_fee_wei: str
    eth_usd: str = Field(description=ETH_USD)
    source: EthSource = Field(description=SOURCE)
    eth_as_of: str | None = Field(description=ETH_AS_OF)
    actions: list[GasRow]
