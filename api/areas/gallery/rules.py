"""What a seller may offer in the gallery, and the life of a listing (docs/gallery.md).

draft --list--> listed --withdraw--> withdrawn
  '----------withdraw------------------^

Laws
- Texts are one line of plain words, without HTML; which characters they may have is the rule of
  every text (core/texts.py), which whoever reads them in holds.
- Numbers of parameters are fixed-point millionths (`_e6`), as amounts are: never a float.
- What was withdrawn stays withdrawn, so a listing has three status events at most.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Final

from core.errors import InvalidNumberError, InvalidParameterError
from core.money import USDC_E6_PER_USDC, UsdcE6, usdc_text
from core.urls import is_https

ONE_E6: Final = USDC_E6_PER_USDC
PARAMS_MOST, CITED_MOST, MARKETS_MOST = 32, 20, 16
CREATION_WINDOW: Final = timedelta(hours=24)
URL_CHARACTERS_MOST: Final = 2_048

_TAG = re.compile(r"<[A-Za-z/!?]")


class ProductType(StrEnum):
    STRATEGY_TEMPLATE = "strategy_template"
    SIGNAL_SUBSCRIPTION = "signal_subscription"
    VAULT_DEPOSIT = "vault_deposit"
    MODEL = "model"


class PriceModel(StrEnum):
    FREE = "free"
    PAID_READ = "paid_read"


class ListingStatus(StrEnum):
    DRAFT = "draft"
    LISTED = "listed"
    WITHDRAWN = "withdrawn"


class ParamType(StrEnum):
    INT = "int"
    FLOAT = "float"


MAY_BECOME: Final[Mapping[ListingStatus, frozenset[ListingStatus]]] = {
    ListingStatus.DRAFT: frozenset({ListingStatus.LISTED, ListingStatus.WITHDRAWN}),
    ListingStatus.LISTED: frozenset({ListingStatus.WITHDRAWN}),
    ListingStatus.WITHDRAWN: frozenset(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyParam:
    """A number of a strategy that its user may change. Both bounds are inclusive."""

    name: str
    type: ParamType
    min_e6: int
    max_e6: int
    default_e6: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A claim of the seller's with its source; nobody checks it, and it ranks nothing."""

    url: str
    source_name: str
    as_of_date: date
    claim_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingOffer:
    """What a listing says. Lengths of its texts are held by whoever reads them in."""

    product_type: ProductType
    title: str
    summary: str
    price_model: PriceModel
    ref_vault_id: str | None
    markets: tuple[str, ...]
    editable_params: tuple[StrategyParam, ...]
    cited: tuple[Citation, ...]


def check_offer(offer: ListingOffer, today: date) -> None:
    """Errors: InvalidParameterError, InvalidNumberError, each naming the field."""
    require_plain("title", offer.title)
    require_plain("summary", offer.summary)
    for index, market in enumerate(offer.markets):
        require_plain(f"markets.{index}", market)
    _require_parts_of_its_type(offer)
    _require_params(offer.editable_params)
    for index, citation in enumerate(offer.cited):
        _require_citation(f"cited.{index}", citation, today)


def require_plain(field: str, text: str) -> None:
    """Errors: InvalidParameterError."""
    if text != " ".join(text.split()):
        raise InvalidParameterError(
            field, "put one space between words, and none at the start or the end"
        )
    if _TAG.search(text):
        raise InvalidParameterError(field, "write plain text, without HTML")


def values_of(
    params: Sequence[StrategyParam], chosen_e6: Mapping[str, int]
) -> Mapping[str, int | str]:
    """Every parameter with the value chosen for it, else its default, as `number` writes it.

    Errors: InvalidParameterError for a name that no parameter has, InvalidNumberError outside a
    parameter's range (both bounds are inside) or for a fraction of a whole number.
    """
    if unknown := chosen_e6.keys() - {param.name for param in params}:
        known = ", ".join(param.name for param in params) or "none"
        field = f"listing_params.{min(unknown)}"
        raise InvalidParameterError(field, f"the listing's parameters are: {known}")
    return {
        param.name: number(param.type, _in_range(param, chosen_e6.get(param.name)))
        for param in params
    }


def number(type_: ParamType, value_e6: int) -> int | str:
    """An int as a whole number, a float as text with six decimals: 250_000 is "0.250000"."""
    return value_e6 // ONE_E6 if type_ is ParamType.INT else usdc_text(UsdcE6(value_e6))


def strategy_row(
    listing_id: str,
    offer: ListingOffer,
    operator: str,
    runner_agent_id: int,
    values: Mapping[str, int | str],
) -> dict[str, Any]:
    """What a draft keeps of a listing: it describes, and is no part of the signed terms."""
    return {
        "listing_id": listing_id,
        "name": offer.title,
        "product_type": offer.product_type.value,
        "operator": operator,
        "runner_agent_id": str(runner_agent_id),
        "markets": list(offer.markets),
        "params": dict(values),
    }


def _in_range(param: StrategyParam, chosen_e6: int | None) -> int:
    value_e6 = param.default_e6 if chosen_e6 is None else chosen_e6
    field = f"listing_params.{param.name}"
    _require_form(field, param.type, value_e6)
    if not param.min_e6 <= value_e6 <= param.max_e6:
        least, most = number(param.type, param.min_e6), number(param.type, param.max_e6)
        raise InvalidNumberError(field, usdc_text(UsdcE6(value_e6)), f"write {least} to {most}")
    return value_e6


def _require_parts_of_its_type(offer: ListingOffer) -> None:
    if offer.editable_params and offer.product_type is not ProductType.STRATEGY_TEMPLATE:
        raise InvalidParameterError(
            "editable_params", "leave it out; only a strategy_template has parameters"
        )
    is_deposit = offer.product_type is ProductType.VAULT_DEPOSIT
    if is_deposit and offer.ref_vault_id is None:
        raise InvalidParameterError("ref_vault_id", "send it; a vault_deposit names its vault")
    if not is_deposit and offer.ref_vault_id is not None:
        raise InvalidParameterError(
            "ref_vault_id", "leave it out; only a vault_deposit names a vault"
        )


def _require_params(params: Sequence[StrategyParam]) -> None:
    names = set[str]()
    for index, param in enumerate(params):
        field = f"editable_params.{index}"
        if param.name in names:
            raise InvalidParameterError(f"{field}.name", "name each parameter once")
        names.add(param.name)
        for part in ("min", "max", "default"):
            _require_form(f"{field}.{part}", param.type, getattr(param, f"{part}_e6"))
        if param.min_e6 >= param.max_e6:
            got = usdc_text(UsdcE6(param.max_e6))
            raise InvalidNumberError(f"{field}.max", got, "write a number above min")
        if not param.min_e6 <= param.default_e6 <= param.max_e6:
            got = usdc_text(UsdcE6(param.default_e6))
            raise InvalidNumberError(f"{field}.default", got, "write a number from min to max")


def _require_form(field: str, type_: ParamType, value_e6: int) -> None:
    if type_ is ParamType.INT and value_e6 % ONE_E6:
        got = usdc_text(UsdcE6(value_e6))
        raise InvalidNumberError(field, got, "write a whole number; the parameter is an int")


def _require_citation(field: str, citation: Citation, today: date) -> None:
    require_plain(f"{field}.source_name", citation.source_name)
    require_plain(f"{field}.claim_text", citation.claim_text)
    if not is_https(citation.url, URL_CHARACTERS_MOST):
        raise InvalidParameterError(
            f"{field}.url",
            f"write an https URL of at most {URL_CHARACTERS_MOST} printable ASCII characters, "
            "without user, backslash, quotes or angle brackets",
        )
    if citation.as_of_date > today:
        raise InvalidParameterError(
            f"{field}.as_of_date", f"write a day no later than today, {today.isoformat()}"
        )
