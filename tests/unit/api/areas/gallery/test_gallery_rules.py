"""What a listing may say, and what may be chosen of its parameters."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.gallery.rules import (
    MAY_BECOME,
    Citation,
    ListingOffer,
    ListingStatus,
    ParamType,
    PriceModel,
    ProductType,
    StrategyParam,
    check_offer,
    values_of,
)
from core.errors import InvalidNumberError, InvalidParameterError
from core.money import UsdcE6
from tests.each import each

TODAY = date(2026, 11, 21)
ONE = 1_000_000
PARTS = StrategyParam(
    name="parts", type=ParamType.INT, min_e6=ONE, max_e6=24 * ONE, default_e6=6 * ONE
)
RATIO = StrategyParam(name="ratio", type=ParamType.FLOAT, min_e6=0, max_e6=ONE, default_e6=250_000)
CITATION = Citation(
    url="https://example.com/a",
    source_name="Example Research",
    as_of_date=TODAY,
    claim_text="Gain > 5 % in 7 of 12 months.",
)
OFFER = ListingOffer(
    product_type=ProductType.STRATEGY_TEMPLATE,
    title="Slow units",
    summary="",
    price_model=PriceModel.FREE,
    ref_vault_id=None,
    markets=("test venue",),
    editable_params=(PARTS, RATIO),
    cited=(CITATION,),
)


def field_of(offer: ListingOffer) -> str:
    """The field that the refusal of this offer names."""
    try:
        check_offer(offer, TODAY)
    except (InvalidNumberError, InvalidParameterError) as error:
        return error.field
    raise AssertionError("it was taken")


def test_a_whole_offer__is_taken() -> None:
    check_offer(OFFER, TODAY)


@each(
    "text",
    [
        *("a\nb", "a\tb", "a\u2028b", "a\u00a0b", "a\u3000b"),
        *("<b>bold", "</p> end", "<!-- x -->", "<script>alert(1)</script>"),
        *(" a", "a ", "a  b", "  "),
    ],
)
@each("field", ["title", "summary", "markets.0", "cited.0.claim_text"])
def test_hostile_text__is_refused_by_its_field(field: str, text: str) -> None:
    match field:
        case "markets.0":
            offer = replace(OFFER, markets=(text,))
        case "cited.0.claim_text":
            offer = replace(OFFER, cited=(replace(CITATION, claim_text=text),))
        case _:
            changed: dict[str, Any] = {field: text}
            offer = replace(OFFER, **changed)
    assert field_of(offer) == field


@each(
    "url",
    [
        *("http://example.com", "https://", "https:///a", "javascript:alert(1)", "example.com"),
        *("https://user@example.com", "https://a b", "https://example.com/\u202e"),
        *("https://a:port", "https://[::1", "https://a/'onload", "https://a\\b"),
        "https://example.com/" + "a" * 2_029,
    ],
)
def test_a_url_that_is_no_plain_https__is_refused(url: str) -> None:
    assert field_of(replace(OFFER, cited=(replace(CITATION, url=url),))) == "cited.0.url"


def test_a_url_of_2048_characters__is_taken() -> None:
    url = "https://example.com/" + "a" * 2_028
    check_offer(replace(OFFER, cited=(replace(CITATION, url=url),)), TODAY)


def test_a_claim_as_of_tomorrow__is_refused() -> None:
    tomorrow = replace(CITATION, as_of_date=date(2026, 11, 22))
    assert field_of(replace(OFFER, cited=(CITATION, tomorrow))) == "cited.1.as_of_date"


@pytest.mark.parametrize(
    "kind", [kind for kind in ProductType if kind is not ProductType.STRATEGY_TEMPLATE]
)
def test_parameters__are_a_strategy_templates_alone(kind: ProductType) -> None:
    vault = "v1" if kind is ProductType.VAULT_DEPOSIT else None
    offer = replace(OFFER, product_type=kind, ref_vault_id=vault)
    assert field_of(offer) == "editable_params"
    check_offer(replace(offer, editable_params=()), TODAY)


@each("kind", ProductType)
def test_a_vault__is_named_by_a_vault_deposit_and_by_no_other(kind: ProductType) -> None:
    wrong = None if kind is ProductType.VAULT_DEPOSIT else "v1"
    offer = replace(OFFER, product_type=kind, ref_vault_id=wrong, editable_params=())
    assert field_of(offer) == "ref_vault_id"


@each(
    ("changed", "field"),
    [
        ({"min_e6": 24 * ONE}, "max"),
        ({"min_e6": 25 * ONE}, "max"),
        ({"default_e6": 0}, "default"),
        ({"default_e6": 25 * ONE}, "default"),
        ({"default_e6": 6 * ONE + 1}, "default"),
        ({"min_e6": 1}, "min"),
        ({"max_e6": 24 * ONE - 1}, "max"),
    ],
)
def test_a_range_that_makes_no_sense__is_refused(changed: dict[str, int], field: str) -> None:
    param = replace(PARTS, **changed)  # type: ignore[arg-type]  # values of int fields
    assert field_of(replace(OFFER, editable_params=(RATIO, param))) == f"editable_params.1.{field}"


@pytest.mark.parametrize("default_e6", [ONE, 24 * ONE])
def test_a_default_at_a_bound__is_taken(default_e6: int) -> None:
    check_offer(replace(OFFER, editable_params=(replace(PARTS, default_e6=default_e6),)), TODAY)


def test_a_name_twice__is_refused() -> None:
    assert field_of(replace(OFFER, editable_params=(PARTS, PARTS))) == "editable_params.1.name"


def test_what_is_not_chosen__has_its_default() -> None:
    assert values_of((PARTS, RATIO), {"parts": UsdcE6(24 * ONE)}) == {
        "parts": 24,
        "ratio": "0.250000",
    }


@each(
    ("name", "value_e6"),
    [("parts", 0), ("parts", 25 * ONE), ("parts", ONE + 1), ("ratio", -1), ("ratio", ONE + 1)],
)
def test_a_value_outside_its_range__is_refused_by_its_name(name: str, value_e6: int) -> None:
    with pytest.raises(InvalidNumberError) as caught:
        values_of((PARTS, RATIO), {name: UsdcE6(value_e6)})
    assert caught.value.field == f"listing_params.{name}"


def test_a_name_that_no_parameter_has__is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidParameterError, match=r"listing_params\.speed: .*: parts, ratio"):
        values_of((PARTS, RATIO), {"speed": UsdcE6(ONE)})


NUMBERS = st.integers(-4, 4).flatmap(
    lambda half: st.sampled_from([half * ONE // 2, half * ONE // 2 + 1])
)


@given(st.sampled_from(ParamType), NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_ranges_and_choices__agree_with_plain_decimals(
    kind: ParamType, least: int, most: int, default: int, chosen: int
) -> None:
    low, high, standard, value = (Decimal(one) / ONE for one in (least, most, default, chosen))

    def has_form(one: Decimal) -> bool:
        return kind is ParamType.FLOAT or one == one.to_integral_value()

    is_range = all(map(has_form, (low, high, standard))) and low < high and low <= standard <= high
    param = StrategyParam(name="p", type=kind, min_e6=least, max_e6=most, default_e6=default)
    try:
        check_offer(replace(OFFER, editable_params=(param,)), TODAY)
    except InvalidNumberError:
        assert not is_range
        return
    assert is_range
    try:
        found = Decimal(values_of((param,), {"p": UsdcE6(chosen)})["p"])
    except InvalidNumberError:
        assert not (has_form(value) and low <= value <= high)
    else:
        assert found == value
        assert has_form(value) and low <= value <= high


def test_a_withdrawn_listing__stays_so() -> None:
    assert {one: len(MAY_BECOME[one]) for one in ListingStatus} == {
        ListingStatus.DRAFT: 2,
        ListingStatus.LISTED: 1,
        ListingStatus.WITHDRAWN: 0,
    }
