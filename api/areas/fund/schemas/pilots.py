"""Commands and answers of indices, applications and paper followers."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.fund.schemas import Leverage
from api.kernel.fields import WHOLE, Id, InstantText, PositiveUsdc, TxHash, published_bounds
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText
from api.shared.published import Publication, UtcDay, VersionNumber
from core.fund.rules.applications import (
    MOST_FEE_BPS,
    PLAN_CHARACTERS,
    ApplicationState,
    BondCurrency,
    BondState,
    Cadence,
    FundType,
)
from core.fund.rules.creation import REASON_CHARACTERS
from core.fund.rules.indices import Category, MemberExclusion

# Indices


class IndicesQuery(Command):
    pass


class IndexQuery(Command):
    id: Id
    category: Category | None = Field(
        default=None, strict=False, description="show only constituents of this category"
    )
    day: UtcDay | None = Field(
        default=None, description="UTC day, such as 2026-11-21; left out: the newest"
    )
    version: VersionNumber | None = Field(
        default=None, description="version of that day; left out: the newest"
    )


class IndexShown(AnswerBody):
    id: int
    name: str
    delivery_chain: str = Field(description="chain of delivery, as a CAIP-2 id")
    day: str | None = Field(description="UTC day of the newest constituents; null: none yet")
    published: Publication | None = Field(description="version of the day; null: none published")
    constituents_count: int
    deliverables_count: int
    funds_count: int
    vault_ids: list[int] = Field(description="vaults of funds on this index, the oldest 100")
    simulated: Literal[True] = Field(
        default=True, description="true: based on simulated data; omitted otherwise"
    )


class IndexList(AnswerBody):
    indices: list[IndexShown]


class ConstituentRow(AnswerBody):
    token: str
    categories: list[Category]
    market: str = Field(description="token_id of its deepest listing, used in a pilot's universe")
    weight: str = Field(description="share of the whole index, over all categories")
    venues: int = Field(description="exchanges that publish its contract, graded C or better")
    depth_usd: str = Field(description="median depth within 2 % there over seven days")
    deliverable: bool | None = Field(
        description="true: an exchange allows withdrawals on the delivery chain; null: unknown"
    )


class ExcludedRow(AnswerBody):
    token: str
    categories: list[Category]
    reason: MemberExclusion
    rule: str


class IndexRead(IndexShown):
    categories: list[Category] = Field(description="categories that occur among its members")
    constituents: list[ConstituentRow] = Field(description="constituents on `day`, largest first")
    excluded: list[ExcludedRow] = Field(description="members left out, each with the first reason")


# Applications


class ApplyForPilot(Command):
    id: Id
    filter_categories: Annotated[
        list[Annotated[Category, Field(strict=False)]], Field(max_length=len(Category))
    ] = Field(
        default=[], description="index categories that the pilot may trade; empty: the whole index"
    )
    fund_type: Annotated[FundType, Field(strict=False)]
    plan_text: Annotated[str, FreeText(PLAN_CHARACTERS, lines=True)] = Field(
        description="your plan in plain text; it becomes the mandate in the pilot's frozen rules"
    )
    rebalance_cadence: Annotated[Cadence, Field(strict=False)]
    leverage: Leverage
    fee_bps: Annotated[
        int,
        published_bounds(0, MOST_FEE_BPS),
        WHOLE,
        Field(description=f"yearly fee on the assets, 0 to {MOST_FEE_BPS}"),
    ]
    tvl_cap_usd: PositiveUsdc
    bond_currency: BondCurrency = Field(default=BondCurrency.USDC, strict=False)
    bond_tx: TxHash | None = Field(
        default=None,
        description="hash of the transfer that paid a bond in USDC; left out: the answer says "
        "what to pay",
    )


class OwnApplicationsQuery(Paged):
    """The newest first."""


class ApplicationPath(Command):
    id: Id


class RejectApplication(Command):
    id: Id
    reason: Annotated[str, FreeText(REASON_CHARACTERS, lines=True)]


class ReturnBond(Command):
    id: Id
    tx_hash: TxHash | None = Field(
        default=None,
        description="required for a bond in USDC: the hash of the transfer that returned it",
    )


class BondShown(AnswerBody):
    currency: BondCurrency
    usd: str | None = Field(description="null for a bond in credits, which have no dollar rate")
    credits: int | None
    state: BondState
    due_at: str | None = Field(description="from when the bond is due back; null: not decided yet")
    paid_by: str | None = Field(description="transfer that paid a bond in USDC; null: none")
    returned_at: str | None
    returned_by: str | None = Field(description="transfer that returned a bond in USDC; null: none")


class ApplicationShown(AnswerBody):
    application_id: int
    index_id: int
    state: ApplicationState
    filter_categories: list[Category]
    fund_type: FundType
    plan_text: str
    rebalance_cadence: Cadence
    leverage: str
    fee_bps: int
    tvl_cap_usd: str
    bond: BondShown
    spot_pilot_days: int
    vault_id: int | None = Field(description="the approved pilot's id; null: not approved")
    submitted_at: InstantText
    decided_at: InstantText | None
    reason: str | None = Field(description="why it was rejected; null if it was not")


class ApplicationList(AnswerBody):
    applications: list[ApplicationShown] = Field(description="your own, and an owner's agents'")
    next_cursor: str | None
