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

TOKENS = "eighteen decimals, as everywhere under /reserve"
BASE_UNITS = "the same in base units of 1e-18, as contracts take it"
ETH_USD = "what 1 ETH is reckoned at, USD: of the market the median over exchanges and 5 % more"
SOURCE = "market: the median over exchanges; fixed: the operator's own figure"
ETH_AS_OF = "of the oldest price in the median; null: the figure is fixed"

BUYERS = "65 bytes r, s, v of the buyer's own key, or 64 (EIP-2098); s in the lower half"


class PrepareBuy(Command):
    usd: Annotated[PositiveUsdc, WithJsonSchema(positive_usdc_schema(6))] = Field(
        description="net amount that becomes tokens, at least 5.000000; the fee comes on top"
    )
    buyer: Address = Field(
        description="the wallet that pays and signs: an account with a key, without code"
    )
    recipient: Address | None = Field(default=None, description="who gets the tokens; null: buyer")
    max_rise_bps: Annotated[int, Field(ge=0, le=MOST_RISE_BPS), WHOLE] = Field(
        default=DEFAULT_RISE_BPS,
        description="how far the price may rise before the purchase is refused, basis points",
    )


class GasQuote(AnswerBody):
    """Wei are text, since JSON numbers do not hold them."""

    base_fee_wei: str
    priority_fee_wei: str
    layer_1_fee_wei: str = Field(description="for the transaction's bytes, an upper bound")
    gas: int
    covers_wei: str = Field(description="the most that the fee pays for, a quarter above the cost")
    eth_usd: str = Field(description=ETH_USD)
    source: EthSource = Field(description=SOURCE)
    eth_as_of: str | None = Field(description=ETH_AS_OF)


class PreparedBuy(AnswerBody):
    """Times are UTC. Sign both documents as they are, and send them before `expires_at`."""

    id: str
    amount_usdc: str
    fee_usdc: str = Field(description="what is signed, for gas")
    credit_usdc: str = Field(description="of fees owed to the buyer, what lowered the fee")
    total_usdc: str
    treasury: str
    recipient: str = Field(description="who gets the tokens")
    batch: str = Field(description="the contract SponsoredBuy")
    salt: str = Field(
        description="of ReserveToken.buyNonce: with it a signer computes both nonces, which name "
        "recipient, min_tokens_base and fee"
    )
    tokens: str = Field(description=f"what the purchase would mint now, {TOKENS}")
    tokens_base: str = Field(description=BASE_UNITS)
    min_tokens: str = Field(description=f"what it mints at least, {TOKENS}")
    min_tokens_base: str = Field(description=BASE_UNITS)
    purchase: dict[str, Any] = Field(description="for eth_signTypedData_v4")
    fee: dict[str, Any] = Field(description="for eth_signTypedData_v4")
    gas: GasQuote
    expires_at: InstantText
    valid_before: str = Field(description="from then on neither authorization can be used")


class HandInBuy(Command):
    id: Annotated[str, Field(pattern=r"^sb_[a-z2-7]{16}$")]
    purchase_signature: KeySignature = Field(description=BUYERS)
    fee_signature: KeySignature = Field(description=BUYERS)


class BuyById(Command):
    id: Annotated[str, Field(pattern=r"^sb_[a-z2-7]{16}$")]


class BuyTransfer(AnswerBody):
    kind: str = Field(description="purchase or fee")
    amount_usdc: str
    to_address: str
    state: AuthorizationState
    is_final: bool = Field(
        description="true: a safe block says so, it is proved, and it will not change"
    )
    why: str | None = Field(
        description="of a dead one: cancelled, elsewhere or lapsed; of an open one: disputed, since "
        "the service's nodes disagree about it"
    )
    tx_hash: str | None
    tokens: str | None = Field(description=f"minted by the purchase, {TOKENS}; null: none are")


class SponsoredBuyState(AnswerBody):
    id: str
    state: BuyState
    is_final: bool
    sending: str | None = Field(
        description="how far the service's transaction is; null before the buy is handed in"
    )
    transfers: list[BuyTransfer]
    owed_usdc: str = Field(
        description="what this buy's fee lowers the buyer's next one by: it was paid for nothing"
    )
    next: str
    expires_at: InstantText
    valid_before: str


class GasRow(AnswerBody):
    action: str
    gas: int
    layer_2_wei: str
    layer_1_wei: str
    usdc: str = Field(description="rounded up")


class GasTable(AnswerBody):
    as_of: str = Field(description="when the node was asked; everybody gets this answer meanwhile")
    good_until: str = Field(description="from then on the node is asked anew")
    base_fee_wei: str
    priority_fee_wei: str
    eth_usd: str = Field(description=ETH_USD)
    source: EthSource = Field(description=SOURCE)
    eth_as_of: str | None = Field(description=ETH_AS_OF)
    actions: list[GasRow]
