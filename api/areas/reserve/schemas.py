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
            "description": "the account_ref that the conversion named, a bytes32",
        }
    ),
]


class ReserveQuoteQuery(Command):
    usd: Annotated[PositiveUsdc, Field(description="USDC to spend, before the sponsor's fee")]


class RefPath(Command):
    account_ref: AccountRef


class OwnList(Paged):
    """A page of one's own rows."""


class ClaimConversions(Command):
    account_ref: AccountRef


class ReserveContracts(AnswerBody):
    reserve_token: str
    usdc: str
    sponsored_buy: str | None = Field(description="contract of sponsored buys; null: none here")


class ReserveConfig(AnswerBody):
    network: str = Field(description="CAIP-2 id: eip155 and the chain id")
    chain_id: int
    contracts: ReserveContracts
    token_decimals: int
    buy_percent: int = Field(description="price of a purchase, in percent of the tokens' worth")
    usdc_a_credit: str = Field(description="USDC of a conversion per credit")
    sponsor_enabled: bool
    sponsor_reason: str | None = Field(description="why no buy is sponsored now; null: buys are")
    sponsor_new_wallets_reason: str | None = Field(
        description="why the service sponsors no wallet now that has not paid for a sponsored buy "
        "before; null: it does"
    )


class ReserveTokenState(AnswerBody):
    redeem_price: str = Field(description="USDC per token, rounded down")
    buy_price: str = Field(description="USDC per token, rounded up")
    unlocked_price: str = Field(description="redeem_price at unlocked_at, if nothing else happens")
    unlocked_at: str | None = Field(
        description="when no part of the reserve is locked any more; null: none is locked now"
    )
    reserve_ratio: str | None = Field(
        description="USDC held by the contract, less what it owes the treasury, divided by its "
        "reserve; 1.000000: fully covered, above: USDC was donated; null: not read yet"
    )
    ratio_block: int | None = Field(description="block at which reserve_ratio was read")
    is_paused: bool = Field(description="true: buying is paused; redeeming and converting never is")
    block: int
    at: str = Field(description="time of the block")


class ReserveQuote(AnswerBody):
    usd: str
    tokens: str = Field(description=f"what the purchase mints, {TOKENS}; you may pass it as minOut")
    tokens_base: str = Field(description="the same amount in base units of 1e-18")
    redeem_usdc: str = Field(
        description="what the tokens would redeem for right after the purchase"
    )
    credits: int = Field(
        description="credits that the tokens would convert to right after the purchase"
    )
    unlocked_usdc: str = Field(
        description="USDC that the tokens would redeem for from unlocked_at on, if nothing else "
        "happens"
    )
    unlocked_credits: int = Field(description="what they would convert to from unlocked_at on")
    unlocked_at: str | None = Field(
        description="when, after the purchase, no part of the reserve is locked any more; null: "
        "none is locked"
    )
    buy_price: str
    redeem_price: str
    is_paused: bool
    block: int = Field(description="number of the block whose state the quote uses")
    at: str


class IssuedRef(AnswerBody):
    account_ref: str = Field(description="your reference; pass it to convert(amount, accountRef)")


class KnownRef(AnswerBody):
    account_ref: str
    is_known: bool = Field(description="true: conversions for this reference credit an account")


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
        "the reference yet, and the holder can claim it; set_aside: crediting failed and is "
        "retried"
    )
    trouble: str | None
    is_own: bool = Field(description="true: made by the linked wallet; false: by another wallet")
    seen_at: InstantText


class CreditedConversion(AnswerBody):
    tx_hash: str
    log_index: int
    block: int
    account_ref: str
    tokens: str
    usdc: str
    credits: int = Field(description="whole credits; the remainder is carried over")
    is_own: bool = Field(description="true: made by the linked wallet; false: by another wallet")
    credited_at: InstantText


class OwnPurchase(AnswerBody):
    tx_hash: str
    log_index: int
    block: int
    buyer: str
    recipient: str
    usdc: str
    tokens: str
    is_own: bool = Field(description="true: the linked wallet paid; false: another wallet did")
    at: str


class OwnSponsoredBuy(AnswerBody):
    id: str = Field(description="GET /reserve/buy/sponsored/{id} shows both transfers")
    state: BuyState
    is_final: bool
    buyer: str
    recipient: str
    usdc: str = Field(description="net amount of the purchase, USDC")
    fee_usdc: str = Field(description="the signed gas fee in USDC")
    tokens: str | None = Field(description=f"what the purchase minted, {TOKENS}; null: nothing yet")
    tx_hash: str | None = Field(
        description="transaction of the purchase, or the one that made it impossible; null: "
        "neither yet"
    )
    next: str
    handed_in_at: InstantText


class OwnReserve(AnswerBody):
    account_ref: str | None = Field(description="your reference; null: none issued yet")
    wallet_address: str | None = Field(description="the linked wallet; null: none is linked")
    carried_usdc: str = Field(
        description="of conversions for account_ref: less than a credit, carried over"
    )
    held: list[HeldConversion] = Field(
        description="those of the first 100 conversions that are not credited yet; order: the "
        "linked wallet's, then those by others for account_ref, each newest first"
    )
    credited: list[CreditedConversion] = Field(description="of the same 100, those credited")
    next_conversions: str | None = Field(
        description="cursor to continue with GET /reserve/me/conversions; null: there are no more"
    )
    purchases: list[OwnPurchase] = Field(
        description="the first 50 purchases on the chain: those paid by the linked wallet, then "
        "those that others paid for it"
    )
    next_purchases: str | None = Field(
        description="cursor to continue with GET /reserve/me/purchases; null: there are no more"
    )
    sponsored: list[OwnSponsoredBuy] = Field(
        description="the newest 50 sponsored buys submitted by this account"
    )


class OwnConversions(AnswerBody):
    held: list[HeldConversion] = Field(description="those on this page that are not credited yet")
    credited: list[CreditedConversion] = Field(description="those on this page that are credited")
    next_cursor: str | None = Field(description="cursor of the next page; null: no more pages")


class OwnPurchases(AnswerBody):
    purchases: list[OwnPurchase]
    next_cursor: str | None = Field(description="cursor of the next page; null: no more pages")


class ClaimedConversions(AnswerBody):
    account_ref: str
    holder: str
    conversions: int = Field(description="claimed conversions that are not credited yet")
    usdc: str = Field(description="USDC of these conversions together")
    status: ConversionStatus = Field(
        description="waiting: they are credited within seconds, or once their block is safe; "
        "credited: all are"
    )
    pending: int = Field(description="how many of them are in blocks that may still be replaced")
    pending_until_block: int | None = Field(
        description="they are credited once this block is safe, about a minute after it; null: none is "
        "pending"
    )
