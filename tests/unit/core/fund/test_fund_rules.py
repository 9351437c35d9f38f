"""Frozen rules, sessions, signals and fills at their boundaries."""

import hashlib
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from core.errors import InvalidNumberError, InvalidParameterError
from core.fund.calendars import kept
from core.fund.rules.frozen import (
    FrozenRules,
    FundKind,
    UniverseMarket,
    leverage_e2,
    leverage_text,
    rules_of,
    weight_e4,
    weight_text,
)
from core.fund.rules.sessions import SessionState, TradingCalendar, session_at
from core.fund.rules.signals import (
    FillSide,
    NewFill,
    is_live,
    positive_decimal,
    require_fill,
)
from core.money import UsdcE6
from tests.each import each
from tests.unit.core.fund.made import AT

RULES = FrozenRules(
    vault_id=7,
    version=2,
    kind=FundKind.SPOT,
    mandate="Large coins, weekly.",
    universe=(UniverseMarket("binance_btc_usdt", "always", UsdcE6(10_000_000)),),
    most_leverage_e2=100,
)
# docs/fund.md#frozen-rules has these bytes, and how to hash them with sha256sum
CANONICAL = (
    '{"kind":"spot","mandate":"Large coins, weekly.","max_leverage":"1.00","universe":[{"market":'
    '"binance_btc_usdt","min_order_usd":"10.000000","session":"always"}],"vault_id":7,"version":2}'
)


def test_the_hash__is_that_of_the_documents_canonical_json() -> None:
    assert json.dumps(RULES.document, sort_keys=True, separators=(",", ":")) == CANONICAL
    assert RULES.digest == hashlib.sha256(CANONICAL.encode()).digest()


def test_a_document__is_read_back_as_the_same_rules() -> None:
    assert rules_of(RULES.document) == RULES


def test_another_version_of_the_same_rules__has_another_hash() -> None:
    again = rules_of(RULES.document | {"version": 3})
    assert again.digest != RULES.digest


@each(
    ("text", "found"),
    [("0", 0), ("0.25", 2_500), ("-1", -10_000), ("1.0000", 10_000), ("-0.0001", -1)],
)
def test_a_weight__is_read_exactly(text: str, found: int) -> None:
    assert weight_e4(text, "x") == found
    assert weight_e4(weight_text(found), "x") == found


@each("text", ["1.0001", "-1.0001", "0.00001", "2", "1e-1", "", "+1", ".5"])
def test_a_weight_of_another_form__is_refused(text: str) -> None:
    with pytest.raises(InvalidNumberError):
        weight_e4(text, "x")


@each(("text", "found"), [("0.01", 1), ("1", 100), ("1.5", 150), ("20", 2_000)])
def test_a_leverage__is_read_exactly(text: str, found: int) -> None:
    assert leverage_e2(text, "x") == found
    assert leverage_e2(leverage_text(found), "x") == found


@each("text", ["0", "0.00", "20.01", "1.234", "-1", "100"])
def test_a_leverage_out_of_its_range__is_refused(text: str) -> None:
    with pytest.raises(InvalidNumberError):
        leverage_e2(text, "x")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each(
    ("now", "state", "next_open"),
    [
        ("2026-11-25T14:29:59", "closed", "2026-11-25T14:30:00"),
        ("2026-11-25T14:30:00", "open", None),
        ("2026-11-25T20:59:59", "open", None),
        ("2026-11-25T21:00:00", "closed", "2026-11-27T14:30:00"),  # Thanksgiving between
        ("2026-11-27T17:59:59", "open", None),  # a half-day
        ("2026-11-27T18:00:00", "closed", "2026-11-30T14:30:00"),
        ("2026-12-24T18:00:00", "closed", "2026-12-28T14:30:00"),  # Christmas and a weekend
        ("2027-03-12T21:00:00", "closed", "2027-03-15T13:30:00"),  # summer time begins
        ("2027-11-26T17:59:59", "open", None),
        ("2027-11-26T18:00:00", "unknown", None),  # the calendar ends
        ("2026-11-01T00:00:00", "unknown", None),  # before it begins
    ],
)
def test_new_york__is_open_closed_or_unknown(now: str, state: str, next_open: str | None) -> None:
    found = session_at(kept(), "XNYS", at(now))
    assert (found.state, found.next_open) == (state, None if next_open is None else at(next_open))


def test_a_market_that_always_trades__is_open_and_one_of_an_unknown_calendar_unknown() -> None:
    assert session_at({}, "always", AT).state is SessionState.OPEN
    assert session_at({}, "XNYS", AT).state is SessionState.UNKNOWN


def test_sessions_that_overlap__are_no_calendar() -> None:
    hour = timedelta(hours=1)
    with pytest.raises(ValueError, match="overlap"):
        TradingCalendar("x", ((AT, AT + 2 * hour), (AT + hour, AT + 3 * hour)))


def test_a_signal__is_live_below_24_hours() -> None:
    assert is_live(AT, AT + timedelta(hours=24) - timedelta(microseconds=1))
    assert not is_live(AT, AT + timedelta(hours=24))


def a_fill(price: str = "100", order_id: str | None = None, **later: float) -> NewFill:
    return NewFill(
        side=FillSide.BUY,
        price=Decimal(price),
        quantity=Decimal(1),
        filled_at=AT + timedelta(**later),
        venue_order_id=order_id,
    )


@pytest.mark.parametrize("price", ["90", "110"])
def test_a_fill_ten_percent_off__is_taken(price: str) -> None:
    require_fill(a_fill(price), AT, Decimal(100), AT)


@each("price", ["89.999999", "110.000001", "80", "120"])
def test_a_fill_further_off__is_refused(price: str) -> None:
    with pytest.raises(InvalidNumberError, match="within 10 % of the snapshot, which was 100"):
        require_fill(a_fill(price), AT, Decimal(100), AT)


@pytest.mark.parametrize("seconds", [-1, 1])
def test_a_fill_before_its_signal_or_in_the_future__is_refused(seconds: int) -> None:
    with pytest.raises(InvalidParameterError, match="filled_at"):
        require_fill(a_fill(seconds=seconds), AT, Decimal(100), AT)


def test_a_fill_without_a_snapshot__is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="plan the signal first"):
        require_fill(a_fill(), AT, None, AT)


def test_a_fill__is_known_by_its_order_or_by_all_that_it_says() -> None:
    assert a_fill("100", "x").identity == a_fill("101", "x").identity
    assert a_fill("100").identity == a_fill("100.0").identity
    assert a_fill("100").identity != a_fill("101").identity


@each(
    "text",
    [
        "0",
        "-1",
        "1e5",
        "nan",
        "1." + "1" * 19,
        "1000000000000000",
        "",
        "1.1.1",
        "\u0661",
        ".5",
        "5.",
    ],
)
def test_a_number_of_another_form__is_refused(text: str) -> None:
    with pytest.raises(InvalidNumberError):
        positive_decimal(text, "price")
