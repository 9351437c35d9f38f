"""Bands and moves of paper capital (docs/shadow-fund.md#quartermaster)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.quartermaster import (
    BandStatus,
    PaperVenue,
    after,
    bands,
    decayed,
    hedge_usd_e6,
    moves,
)

USD = 1_000_000


def venue(name: str, usd: int, opportunity: float = 1.0, *, is_won: bool = False) -> PaperVenue:
    return PaperVenue(name, usd * USD, opportunity, is_won)


def test_an_opportunity__is_half_after_seven_days() -> None:
    since = datetime(2026, 11, 1, tzinfo=UTC)
    assert decayed(8.0, since, since + timedelta(days=7)) == pytest.approx(4.0)
    assert decayed(8.0, since, since - timedelta(days=7)) == 8.0


def test_the_worked_example__has_one_venue_over_and_one_under() -> None:
    found = bands([venue("a", 50_000, 25.0), venue("b", 10_000, 50.0), venue("c", 40_000, 25.0)])
    assert [(one.floor, one.cap, one.status) for one in found] == [
        (0.125, 0.35, BandStatus.OVER),
        (0.25, 0.35, BandStatus.UNDER),
        (0.125, 0.35, BandStatus.OVER),
    ]
    assert [one.is_concentrated for one in found] == [True, False, True]


def test_the_worked_example__moves_from_the_cheapest() -> None:
    planned = moves(
        [
            venue("a", 50_000, 25.0),
            venue("b", 10_000, 50.0),
            venue("c", 40_000, 25.0, is_won=True),
        ]
    )
    assert [(one.from_at, one.to_at, one.usd_e6 // USD) for one in planned] == [("a", "b", 15_000)]
    assert (planned[0].fee_usd_e6, planned[0].takes_s) == (USD, 1_800)


def test_a_move_out_of_won__costs_ten_basis_points_more() -> None:
    planned = moves([venue("a", 90_000, 1.0, is_won=True), venue("b", 10_000, 1.0)])
    assert (planned[0].usd_e6, planned[0].fee_usd_e6) == (15_000 * USD, 16 * USD)


def test_without_an_opportunity__nothing_is_said_and_nothing_moved() -> None:
    venues = [venue("a", 90_000, 0.0), venue("b", 0, 0.0)]
    assert [(one.status, one.cap) for one in bands(venues)] == [(None, None), (None, None)]
    assert moves(venues) == ()


def test_without_capital__nothing_is_said() -> None:
    assert [one.status for one in bands([venue("a", 0, 5.0)])] == [None]


def test_a_share_at_its_cap__is_in_its_band() -> None:
    found = bands([venue("a", 35_000, 1.0), venue("b", 65_000, 1.0)])
    assert found[0].status is BandStatus.BAND
    assert not found[0].is_concentrated


def test_a_hedge__is_one_and_a_half_deviations_of_what_is_known() -> None:
    assert hedge_usd_e6([(1_000 * USD, 0.02), (1_000 * USD, None)]) == (30 * USD, 1)


def test_a_hedge_of_what_is_not_known__is_not_known() -> None:
    assert hedge_usd_e6([(1_000 * USD, None)]) == (None, 1)
    assert hedge_usd_e6([]) == (0, 0)


def test_a_venue_that_gives_all__keeps_what_the_fee_takes() -> None:
    """Its weight is 0, so its cap is too; it gave all it had, and the fee made it owe a dollar."""
    (planned,) = moves([venue("a", 3_500, 0.0), venue("b", 0, 1.0), venue("c", 6_500, 0.0)])
    assert (planned.from_at, planned.usd_e6, planned.fee_usd_e6) == ("a", 3_499 * USD, USD)


VENUES = st.lists(
    st.builds(
        PaperVenue,
        st.text("abcdef", min_size=1, max_size=2),
        st.integers(0, 10**12),
        st.floats(0, 1e6),
        st.booleans(),
    ),
    unique_by=lambda one: one.exchange,
    max_size=13,
)


@given(VENUES)
def test_moves__keep_all_capital_but_their_fees(venues: list[PaperVenue]) -> None:
    planned = moves(venues)
    held = after({one.exchange: one.usd_e6 for one in venues}, planned)
    fees = sum(one.fee_usd_e6 for one in planned)
    assert sum(held.values()) == sum(one.usd_e6 for one in venues) - fees


@given(VENUES)
def test_no_venue__owes_after_its_moves(venues: list[PaperVenue]) -> None:
    held = after({one.exchange: one.usd_e6 for one in venues}, moves(venues))
    assert min(held.values(), default=0) >= 0


@given(VENUES)
def test_moves__take_from_venues_over_their_cap_and_give_to_those_under_their_floor(
    venues: list[PaperVenue],
) -> None:
    total = sum(one.usd_e6 for one in venues)
    band = {one.exchange: one for one in bands(venues)}
    planned = moves(venues)
    for name, one in band.items():
        given_ = sum(move.usd_e6 for move in planned if move.from_at == name)
        taken = sum(move.usd_e6 for move in planned if move.to_at == name)
        assert not given_ or one.usd_e6 - given_ >= round((one.cap or 0) * total)
        assert not taken or one.usd_e6 + taken <= round((one.floor or 0) * total)


@pytest.mark.parametrize(("is_won", "left"), [(False, 0), (True, 1_000)])
def test_a_venue_without_an_opportunity__gives_all_but_the_fee(is_won: bool, left: int) -> None:
    venues = [
        venue("a", 10_000, 0.0, is_won=is_won),
        venue("b", 0),
        venue("c", 20_000, 0.0, is_won=is_won),
    ]
    held = after({one.exchange: one.usd_e6 for one in venues}, moves(venues))
    assert 0 <= held["a"] <= left


@given(VENUES)
def test_a_floor__is_never_above_its_cap(venues: list[PaperVenue]) -> None:
    for one in bands(venues):
        assert one.cap is None or one.floor is None or one.floor <= one.cap <= 0.35
