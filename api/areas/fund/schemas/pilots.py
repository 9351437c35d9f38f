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
        default=None, strict=False, description="of the constituents shown"
    )
    day: UtcDay | None = Field(
        default=None, description="of UTC: 2026-11-21; without it the newest"
    )
    version: VersionNumber | None = Field(
        default=None, description="of the day; without it the newest"
    )


class IndexShown(AnswerBody):
    id: int
    name: str
    delivery_chain: str = Field(description="CAIP-2")
    day: str | None = Field(description="of the newest constituents; null: none yet")
    published: Publication | None = Field(description="the version of the day; null: none yet")
    constituents_count: int
    deliverables_count: int
    funds_count: int
    vault_ids: list[int] = Field(description="the funds on it, the oldest 100")
    simulated: Literal[True] = Field(
        default=True, description="true: of simulated data; left out otherwise"
    )


class IndexList(AnswerBody):
    indices: list[IndexShown]


class ConstituentRow(AnswerBody):
    token: str
    categories: list[Category]
    market: str = Field(description="its deepest listing, which a pilot's universe names")
    weight: str = Field(description="share of the whole index, of every category")
    venues: int = Field(description="exchanges that give its contract and grade it C or better")
    depth_usd: str = Field(description="median within 2 % of that listing in seven days")
    deliverable: bool | None = Field(
        description="an exchange lets it out on the delivery chain; null: unknown"
    )


class ExcludedRow(AnswerBody):
    token: str
    categories: list[Category]
    reason: MemberExclusion
    rule: str


class IndexRead(IndexShown):
    categories: list[Category] = Field(description="those that its members have")
    constituents: list[ConstituentRow] = Field(description="of `day`, the largest first")
    excluded: list[ExcludedRow] = Field(description="members that are none, with the first reason")


# Applications


class ApplyForPilot(Command):
    id: Id
    filter_categories: Annotated[
        list[Annotated[Category, Field(strict=False)]], Field(max_length=len(Category))
    ] = Field(default=[], description="empty: the whole index")
    fund_type: Annotated[FundType, Field(strict=False)]
    plan_text: Annotated[str, FreeText(PLAN_CHARACTERS, lines=True)] = Field(
        description="becomes the mandate of the pilot's frozen rules"
    )
    rebalance_cadence: Annotated[Cadence, Field(strict=False)]
    leverage: Leverage
    fee_bps: Annotated[
        int,
        published_bounds(0, MOST_FEE_BPS),
        WHOLE,
        Field(description=f"of the assets a year, 0 to {MOST_FEE_BPS}"),
    ]
    tvl_cap_usd: PositiveUsdc
    bond_currency: BondCurrency = Field(default=BondCurrency.USDC, strict=False)
    bond_tx: TxHash | None = Field(
        default=None,
        description="the transfer that paid a bond in USDC; without it the call says what to pay",
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
        default=None, description="of a bond in USDC: the transfer that gave it back"
    )


class BondShown(AnswerBody):
    currency: BondCurrency
    usd: str | None = Field(description="of a bond in USDC; credit has no rate in dollars")
    credits: int | None
    state: BondState
    due_at: str | None = Field(
        description="from when on it is given back; null: nobody decided yet"
    )
    paid_by: str | None = Field(description="the transfer that paid a bond in USDC")
    returned_at: str | None
    returned_by: str | None = Field(description="the transfer that gave it back")


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
    vault_id: int | None = Field(description="the pilot, of an approved application")
    submitted_at: InstantText
    decided_at: InstantText | None
    reason: str | None = Field(description="of a rejection")


class ApplicationList(AnswerBody):
    applications: list[ApplicationShown] = Field(description="yours, and an owner's agents'")
    next_cursor: str | None
