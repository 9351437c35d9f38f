"""What a bond is, who may apply, and when a bond is given back (docs/fund.md#applications)."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from core.errors import InvalidNumberError, InvalidParameterError
from core.fund.rules.applications import (
    ApplicationState,
    ApplicationStateError,
    BondCurrency,
    BondNotDueError,
    BondState,
    Cadence,
    FundType,
    NewApplication,
    bond_due_at,
    bond_state,
    bond_usdc_e6,
    require_application,
    require_due,
    require_undecided,
)
from core.fund.rules.frozen import FundKind
from core.money import UsdcE6, usdc_text
from core.settings import CreditBonds
from tests.each import each
from tests.unit.core.fund.made import AT, USD

SUBMITTED, APPROVED, REJECTED = ApplicationState
DAYS_14 = timedelta(days=14)
TICK = timedelta(microseconds=1)


def application(**changes: Any) -> NewApplication:
    plain: dict[str, Any] = {
        "index_id": 1,
        "categories": ("defi",),
        "fund_type": FundType.ACTIVE,
        "plan_text": "The three deepest, weekly.",
        "cadence": Cadence.WEEKLY,
        "leverage_e2": 100,
        "fee_bps": 100,
        "tvl_cap_usdc_e6": UsdcE6(10_000 * USD),
        "bond_currency": BondCurrency.USDC,
    }
    return NewApplication(**(plain | changes))


@each(
    ("cap", "bond"),
    [
        ("0.000001", "100.000000"),
        ("400.000000", "100.000000"),
        ("400.000001", "100.010000"),
        ("400.040000", "100.010000"),
        ("400.040001", "100.020000"),
        ("10000.000000", "2500.000000"),
        ("12345.670000", "3086.420000"),
    ],
)
def test_the_bond__is_a_quarter_of_the_cap_up_to_the_cent(cap: str, bond: str) -> None:
    whole, fraction = cap.split(".")
    assert usdc_text(bond_usdc_e6(UsdcE6(int(whole) * USD + int(fraction)))) == bond


@given(st.integers(1, 10**18))
def test_a_bond__is_whole_cents_and_the_least_that_is_a_quarter(cap: int) -> None:
    bond = bond_usdc_e6(UsdcE6(cap))
    assert bond % 10_000 == 0
    assert bond >= 100 * USD
    assert 4 * bond >= cap
    assert bond == 100 * USD or 4 * (bond - 10_000) < cap


def test_leverage_1__is_a_spot_pilot_and_more_a_perp_one() -> None:
    assert application().kind is FundKind.SPOT
    assert application(leverage_e2=101).kind is FundKind.PERP


@each(
    ("changes", "field"),
    [
        ({"categories": ("ai",)}, "filter_categories"),
        ({"categories": ("defi", "defi")}, "filter_categories"),
        ({"leverage_e2": 99}, "leverage"),
        ({"leverage_e2": 101, "fund_type": FundType.PASSIVE}, "leverage"),
        ({"fee_bps": -1}, "fee_bps"),
        ({"fee_bps": 1_001}, "fee_bps"),
    ],
)
def test_an_application_that_breaks_a_rule__names_the_field(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises((InvalidNumberError, InvalidParameterError), match=f"^{field}: "):
        require_application(application(**changes), ["defi", "l2"])


@pytest.mark.parametrize("fee_bps", [0, 1_000])
def test_a_fee_at_either_bound__is_allowed(fee_bps: int) -> None:
    require_application(application(fee_bps=fee_bps, categories=()), [])


@each("wanted", [APPROVED, REJECTED])
@each("state", list(ApplicationState))
def test_what_is_decided__is_not_decided_again(
    state: ApplicationState, wanted: ApplicationState
) -> None:
    if state is SUBMITTED:
        require_undecided(state, wanted)
        return
    with pytest.raises(ApplicationStateError):
        require_undecided(state, wanted)


@each(
    ("state", "decided", "now", "found"),
    [
        (SUBMITTED, None, AT + 10 * DAYS_14, BondState.HELD),
        (REJECTED, AT, AT, BondState.DUE),
        (APPROVED, AT, AT + DAYS_14 - TICK, BondState.HELD),
        (APPROVED, AT, AT + DAYS_14, BondState.DUE),
    ],
)
def test_a_bond__is_due_at_the_rejection_or_at_the_pilots_fourteenth_day(
    state: ApplicationState, decided: Any, now: Any, found: BondState
) -> None:
    due_at = bond_due_at(state, decided)
    assert bond_state(due_at, now, is_returned=False) is found
    if found is BondState.DUE:
        require_due(due_at, now, is_returned=False)
        return
    with pytest.raises(BondNotDueError) as refused:
        require_due(due_at, now, is_returned=False)
    assert refused.value.until == due_at


def test_a_bond_that_was_given_back__is_never_due_again() -> None:
    with pytest.raises(BondNotDueError) as refused:
        require_due(AT, AT + DAYS_14, is_returned=True)
    assert (refused.value.state, refused.value.until) == (BondState.RETURNED, None)


def test_bonds_in_credits__are_written_by_account() -> None:
    assert TypeAdapter(CreditBonds).validate_python("17:5000, 21:2500") == {17: 5_000, 21: 2_500}


@each("text", ["17", "17:0", "0:5", "17:-1", "17:5,17:6", "17:1e3", "a:b"])
def test_bonds_in_credits_of_another_form__are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="id:credits"):
        TypeAdapter(CreditBonds).validate_python(text)
