"""Commands and answers of the reserve token (docs/reserve.md)."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.kernel.fields import InstantText, PositiveUsdc
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from core.reserve.rules import ConversionStatus
from core.sponsored.rules import BuyState

ACCOUNT_REF_PATTERN = r"^0x[0-9a-fA-F]{64}$"
ACCOUNT_REF_RULE = "write a reference of an account, a bytes32: 0x and 64 hex characters, not all 0"
TOKENS = "with eighteen decimals"


def _account_ref(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(ACCOUNT_REF_PATTERN, value):
        raise PydanticCustomError("invalid_parameter", "{rule}", {"rule": ACCOUNT_REF_RULE})
    if not int(value, 16):
        raise PydanticCustomError("invalid_parameter", "{rule}", {"rule": ACCOUNT_REF_RULE})
    return value.lower()


AccountRef = Annotated[
    str,
    BeforeValidator(_account_ref),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": ACCOUNT_REF_PATTERN,
            "not": {"const": "0x" + "0" * 64},
            "description": "the account_ref of a conversion, a bytes32",
        }
    ),
]


class ReserveQuoteQuery(Command):
    usd: Annotated[PositiveUsdc, Field(description="USDC to buy for, before the sponsor's fee")]


class RefPath(Command):
    account_ref: AccountRef


class OwnList(Paged):
    """A page of one's own rows."""


class ClaimConversions(Command):
    account_ref: AccountRef


class ReserveContracts(AnswerBody):
    reserve_token: str
    usdc: str
    sponsored_buy: str | None = Field(description="the batch of sponsored buys; null: none is here")


class ReserveConfig(AnswerBody):
    network: str = Field(description="CAIP-2: eip155 and the chain id")
    chain_id: int
    contracts: ReserveContracts
    token_decimals: int
    buy_percent: int = Field(description="a purchase costs this share of the tokens' worth")
    usdc_a_credit: str = Field(description="USDC of a conversion that are one credit")
    sponsor_enabled: bool
    sponsor_reason: str | None = Field(description="why none is taken now; null: they are taken")
    sponsor_new_wallets_reason: str | None = Field(
        description="why none is taken now of wallets that have not paid for a sponsored buy before; "
        "null: they are taken"
    )


class ReserveTokenState(AnswerBody):
    redeem_price: str = Field(description="USDC per token, rounded down")
    buy_price: str = Field(description="USDC per token, rounded up")
    unlocked_price: str = Field(
        description="what redeem_price rises to by unlocked_at if nothing else happens"
    )
    unlocked_at: str | None = Field(
        description="from when nothing of the reserve is locked; null: nothing is now"
    )
    reserve_ratio: str | None = Field(
        description="USDC that the contract holds, less what it owes the treasury, over its "
        "reserve; 1.000000 is covered, more was donated; null: not read yet"
    )
    ratio_block: int | None = Field(description="that the ratio was read at")
    is_paused: bool = Field(description="buying is; redeeming and converting never are")
    block: int
    at: str = Field(description="time of the block")


class ReserveQuote(AnswerBody):
    usd: str
    tokens: str = Field(description=f"that the purchase mints, {TOKENS}; may be demanded as minOut")
    tokens_base: str = Field(description="the same in base units of 1e-18")
    redeem_usdc: str = Field(
        description="what these tokens would redeem for right after the purchase"
    )
    credits: int = Field(description="what they would convert to right after the purchase")
    unlocked_usdc: str = Field(
        description="what they would redeem for from unlocked_at on, if nothing else happens"
    )
    unlocked_credits: int = Field(description="what they would convert to from then on")
    unlocked_at: str | None = Field(
        description="from when nothing of the reserve is locked after the purchase; null: nothing is"
    )
    buy_price: str
    redeem_price: str
    is_paused: bool
    block: int = Field(description="the quote is the contract's of this block")
    at: str


class IssuedRef(AnswerBody):
    account_ref: str = Field(description="pass it to convert(amount, accountRef)")


class KnownRef(AnswerBody):
    account_ref: str
    is_known: bool = Field(description="true: what is converted for it becomes an account's credit")


WhyHeld = Literal["not_safe", "unregistered_ref", "set_aside"]


class HeldConversion(AnswerBody):
    tx_hash: str
    log_index: int
    block: int
    holder: str
    account_ref: str
    tokens: str
    usdc: str
    why: WhyHeld = Field(
        description="not_safe: its block may still be replaced; unregistered_ref: no account has "
        "the reference, its holder's account can claim it; set_aside: crediting failed and is "
        "tried again"
    )
    trouble: str | None
    is_own: bool = Field(description="the linked wallet made it; false: another wallet did")
    seen_at: InstantText


class CreditedConversion(AnswerBody):
    tx_hash: str
    log_index: int
    block: int
    account_ref: str
    tokens: str
    usdc: str
    credits: int = Field(description="whole credits; what is left below one is carried")
    is_own: bool = Field(description="the linked wallet made it; false: another wallet did")
    credited_at: InstantText


class OwnPurchase(AnswerBody):
    tx_hash: str
    log_index: int
    block: int
    buyer: str
    recipient: str
    usdc: str
    tokens: str
    is_own: bool = Field(description="the linked wallet paid; false: another one did for it")
    at: str


class OwnSponsoredBuy(AnswerBody):
    id: str = Field(description="GET /reserve/buy/sponsored/{id} tells both transfers apart")
    state: BuyState
    is_final: bool
    buyer: str
    recipient: str
    usdc: str = Field(description="net amount of the purchase")
    fee_usdc: str = Field(description="that was signed for gas")
    tokens: str | None = Field(description=f"that the purchase minted, {TOKENS}; null: not yet")
    tx_hash: str | None = Field(
        description="of the purchase, or of what made it impossible; null: neither"
    )
    next: str
    handed_in_at: InstantText


class OwnReserve(AnswerBody):
    account_ref: str | None = Field(description="null: none was issued yet")
    wallet_address: str | None = Field(description="null: none is linked")
    carried_usdc: str = Field(description="of conversions for account_ref, below a whole credit")
    held: list[HeldConversion] = Field(
        description="of the first 100 conversions, those not credited; the linked wallet's come first, "
        "then those that others made for account_ref, each the newest first"
    )
    credited: list[CreditedConversion] = Field(description="and those credited")
    next_conversions: str | None = Field(
        description="cursor of GET /reserve/me/conversions for those after; null: that is all"
    )
    purchases: list[OwnPurchase] = Field(
        description="the first 50 on chain; those that the linked wallet paid come first, then those "
        "that others paid for it"
    )
    next_purchases: str | None = Field(
        description="cursor of GET /reserve/me/purchases for those after; null: that is all"
    )
    sponsored: list[OwnSponsoredBuy] = Field(
        description="the newest 50 sponsored buys that this account handed in"
    )


class OwnConversions(AnswerBody):
    held: list[HeldConversion] = Field(description="of this page, those not credited")
    credited: list[CreditedConversion] = Field(description="of this page, those credited")
    next_cursor: str | None = Field(description="null: that is all")


class OwnPurchases(AnswerBody):
    purchases: list[OwnPurchase]
    next_cursor: str | None = Field(description="null: that is all")


class ClaimedConversions(AnswerBody):
    account_ref: str
    holder: str
    conversions: int = Field(description="that are claimed and not credited yet")
    usdc: str = Field(description="of these together")
    status: ConversionStatus = Field(
        description="waiting: they are credited within seconds, or once their block is safe; "
        "credited: all are"
    )
    pending: int = Field(description="of these, in blocks that may still be replaced")
    pending_until_block: int | None = Field(
        description="they are credited once this block is safe, about a minute after it; null: none is "
        "pending"
    )
