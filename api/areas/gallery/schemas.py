"""Commands and answers of the gallery (docs/gallery.md)."""

import re
from datetime import date
from typing import Annotated, Any, Literal, NoReturn

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.areas.gallery.rules import (
    CITED_MOST,
    MARKETS_MOST,
    PARAMS_MOST,
    URL_CHARACTERS_MOST,
    ListingStatus,
    ParamType,
    PriceModel,
    ProductType,
)
from api.areas.records.views.strip import RecordStrip
from api.kernel.fields import WHOLE, AccountIdText, InstantText, Millionths
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText
from core.urls import HTTPS_PATTERN

LISTING_ID_PATTERN = r"^l_[a-z2-7]{10}$"
PAGE_MOST = 50  # records that are read at once
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _refuse(kind: str, rule: str) -> NoReturn:
    raise PydanticCustomError(kind, "{rule}", {"rule": rule})


def _day(value: Any) -> date:
    if isinstance(value, str) and _DAY.fullmatch(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass  # a day that no calendar has
    _refuse("invalid_parameter", "write a day, such as 2026-01-31")


ListingId = Annotated[
    str,
    WithJsonSchema(  # another form names no listing, which is not_found
        {"type": "string", "pattern": LISTING_ID_PATTERN, "description": "the listing's id"}
    ),
]
Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
ProductWord = Literal["strategy_template", "signal_subscription", "vault_deposit", "model"]
Market = Annotated[str, FreeText(80)]


class OfferedParam(Command):
    """Numbers as text or JSON numbers, from -1e12 to 1e12, with at most six decimals; whole numbers
    for an int.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
    type: Literal["int", "float"]
    min: Millionths
    max: Millionths
    default: Millionths


class OfferedCitation(Command):
    url: Annotated[
        str,
        FreeText(URL_CHARACTERS_MOST, exact=True),
        Field(description="https URL of the source", json_schema_extra={"pattern": HTTPS_PATTERN}),
    ]
    source_name: Annotated[str, FreeText(120)]
    as_of_date: Day
    claim_text: Annotated[str, FreeText(500)]


class CreateListing(Command):
    agent_id: AccountIdText | None = Field(
        default=None,
        description="the agent that sells it; an owner names one of its agents, an agent itself "
        "or leaves it out",
    )
    product_type: ProductWord
    title: Annotated[str, FreeText(80, least=2)]
    summary: Annotated[str, FreeText(140, least=0)]
    price_model: Literal["free", "paid_read"]
    ref_vault_id: (
        Annotated[
            str,
            Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$", description="the vault of a vault_deposit"),
        ]
        | None
    ) = None
    markets: Annotated[list[Market], Field(max_length=MARKETS_MOST)] = Field(default_factory=list)
    editable_params: Annotated[
        list[OfferedParam],
        Field(max_length=PARAMS_MOST, description="only for a strategy_template"),
    ] = Field(default_factory=list)
    cited: Annotated[
        list[OfferedCitation],
        Field(max_length=CITED_MOST, description="your claims about the offer, with their sources"),
    ] = Field(default_factory=list)
    status: Literal["draft", "listed"] = "draft"


class GalleryQuery(Paged):
    product_type: ProductWord | None = None
    limit: Annotated[int, Field(ge=1, le=PAGE_MOST), WHOLE] = 20


class ListingPath(Command):
    id: ListingId


class EditableParam(AnswerBody):
    """An int has whole numbers, a float text with six decimals. Both bounds are inclusive."""

    name: str
    type: ParamType
    min: int | str
    max: int | str
    default: int | str


class CitedClaim(AnswerBody):
    url: str
    source_name: str
    as_of_date: str
    claim_text: str


class Listing(AnswerBody):
    id: str
    product_type: ProductType
    title: str
    summary: str
    status: ListingStatus
    status_at: InstantText
    agent_id: str = Field(description="id of the agent that sells it")
    operator: str = Field(description="the agent's name")
    house: bool = Field(description="true: the house runs the agent that sells it")
    runner_agent_id: str = Field(description="id of the agent whose record is shown")
    ref_vault_id: str | None
    markets: list[str]
    editable_params: list[EditableParam]
    cited: list[CitedClaim] = Field(
        description="the seller's claims; nobody verifies them, and they do not affect ranking"
    )
    price_model: PriceModel
    created_at: InstantText
    record: RecordStrip | None = Field(
        description="record summary of runner_agent_id, computed at the time of the read; null: "
        "unavailable"
    )


class Gallery(AnswerBody):
    listings: list[Listing]
    next_cursor: str | None
