"""What the venue answers about positions, markets and orders is hostile until parsed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.perps.rules.answers import VenueAnswerError
from core.perps.rules.order_answers import (
    answer_by_cloid,
    answer_of_send,
    asset_offset,
    market_of,
    positions_of,
)
from core.perps.rules.orders import OrderAnswer, OrderOutcome, VenueMarket, VenuePosition
from tests.each import each

META = {"universe": [{"name": "BTC", "szDecimals": 5}, {"name": "ETH", "szDecimals": 4}]}
MIDS = {"BTC": "60000.5", "ETH": "3000"}


def state(*positions: Any) -> dict[str, Any]:
    return {"assetPositions": [{"position": one} for one in positions]}


def sent(status: Any) -> dict[str, Any]:
    return {"status": "ok", "response": {"type": "order", "data": {"statuses": [status]}}}


def known(status: Any, **changed: Any) -> dict[str, Any]:
    order = {"oid": 7, "origSz": "0.5", "sz": "0.2"} | changed
    return {"status": "order", "order": {"order": order, "status": status}}


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "status", "response", "data", "statuses", "order", "filled", "resting", "error",
                    "oid", "sz", "origSz", "avgPx", "totalSz", "assetPositions", "position", "coin",
                    "szi", "universe", "name", "szDecimals", "BTC",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize(
    "parse",
    [
        positions_of,
        answer_of_send,
        answer_by_cloid,
        lambda said: market_of(said, said, "BTC", 0),
        lambda said: asset_offset(said, "BTC"),
    ],
)
@given(said=json)
def test_whatever_is_said__is_parsed_or_refused(parse: Any, said: Any) -> None:
    try:
        parse(said)
    except VenueAnswerError:
        return


def test_positions__have_signed_sizes_and_none_of_zero() -> None:
    found = positions_of(
        state(
            {"coin": "BTC", "szi": "-0.5"},
            {"coin": "ETH", "szi": "0.0"},
            {"coin": "xyz:TSLA", "szi": "3"},
        )
    )
    assert found == (
        VenuePosition(coin="BTC", size_e8=-50_000_000),
        VenuePosition(coin="xyz:TSLA", size_e8=300_000_000),
    )


@each(
    "position",
    [
        {"coin": "BTC", "szi": "NaN"},
        {"coin": "BTC", "szi": "0.000000001"},
        {"coin": "BTC", "szi": 1},
        {"coin": "BTC\n", "szi": "1"},
        {"coin": "<b>", "szi": "1"},
        {"coin": "A" * 17, "szi": "1"},
        {"szi": "1"},
    ],
)
def test_a_position_that_is_not_documented__is_refused(position: Any) -> None:
    with pytest.raises(VenueAnswerError):
        positions_of(state(position))


def test_a_market__is_numbered_by_its_place() -> None:
    assert market_of(META, MIDS, "ETH", 110_000) == VenueMarket(
        asset=110_001, size_decimals=4, mid_e8=300_000_000_000
    )


@each("mid", ["0", "-1", "0.000000001", "NaN", None])
def test_a_market_without_a_price__is_refused(mid: Any) -> None:
    with pytest.raises(VenueAnswerError):
        market_of(META, MIDS | {"BTC": mid}, "BTC", 0)


@each("decimals", [-1, 9, True, "5", None])
def test_a_market_with_other_decimals__is_refused(decimals: Any) -> None:
    with pytest.raises(VenueAnswerError):
        market_of({"universe": [{"name": "BTC", "szDecimals": decimals}]}, MIDS, "BTC", 0)


def test_the_markets_of_builders__begin_at_110_000() -> None:
    dexs = [None, {"name": "abc"}, {"name": "xyz"}]
    assert (asset_offset(dexs, "abc"), asset_offset(dexs, "xyz")) == (110_000, 120_000)
    with pytest.raises(VenueAnswerError):
        asset_offset(dexs, "gone")


@each(
    ("status", "outcome"),
    [
        ({"filled": {"totalSz": "0.5", "avgPx": "1.5", "oid": 1}}, OrderOutcome.ACCEPTED),
        ({"resting": {"oid": 1}}, OrderOutcome.ACCEPTED),
        ({"error": "Order must have minimum value of $10."}, OrderOutcome.REJECTED),
    ],
)
def test_an_answer_to_an_order__is_accepted_or_rejected(status: Any, outcome: OrderOutcome) -> None:
    assert answer_of_send(sent(status)).outcome is outcome


@each("changed", [{"totalSz": "-1"}, {"totalSz": "0"}, {"avgPx": "-0.5"}])
def test_an_order_that_filled_nothing_or_less__is_no_answer(changed: Any) -> None:
    """Nor does it make a number that nobody can read: -0.5 is no -1.5."""
    filled = {"totalSz": "1", "avgPx": "1.5", "oid": 1} | changed
    with pytest.raises(VenueAnswerError):
        answer_of_send(sent({"filled": filled}))


def test_a_market_beyond_all_asset_numbers__is_refused() -> None:
    with pytest.raises(VenueAnswerError):
        asset_offset([None, *([{}] * 300_000), {"name": "abc"}], "abc")


def test_an_average_price__is_rounded_down() -> None:
    filled = {"filled": {"totalSz": "1", "avgPx": "1.123456789", "oid": 1}}
    assert answer_of_send(sent(filled)).avg_px_e8 == 112_345_678


def test_an_action_that_is_refused_whole__is_rejected() -> None:
    refused = {"status": "err", "response": "User or API Wallet 0x does not exist."}
    assert answer_of_send(refused) == OrderAnswer(
        outcome=OrderOutcome.REJECTED, venue_words="User or API Wallet 0x does not exist."
    )


@each(
    ("said", "words"),
    [
        ("Price must be divisible by tick size.", "Price must be divisible by tick size."),
        ("a\u202eb\n\x00\ud800\U000e0041", r"a\u202eb\n\x00\ud800\U000e0041"),
        ("A" * 201, "A" * 200),
        ("", None),
        (None, None),
        ({"reason": 1}, None),
    ],
)
def test_the_venues_words_of_a_refusal__are_kept_printable_and_short(
    said: Any, words: str | None
) -> None:
    assert answer_of_send(sent({"error": said})).venue_words == words
    assert answer_of_send({"status": "err", "response": said}).venue_words == words


@each(
    ("status", "outcome", "filled"),
    [
        ("filled", OrderOutcome.ACCEPTED, 30_000_000),
        ("open", OrderOutcome.ACCEPTED, 30_000_000),
        ("canceled", OrderOutcome.ACCEPTED, 30_000_000),
        ("rejected", OrderOutcome.REJECTED, None),
        ("iocCancelRejected", OrderOutcome.REJECTED, None),
    ],
)
def test_an_order_that_the_venue_knows__says_what_became_of_it(
    status: str, outcome: OrderOutcome, filled: int | None
) -> None:
    words = status if outcome is OrderOutcome.REJECTED else None
    assert answer_by_cloid(known(status)) == OrderAnswer(
        outcome=outcome, total_sz_e8=filled, oid=7, venue_words=words
    )


def test_an_order_that_the_venue_does_not_know__is_none() -> None:
    assert answer_by_cloid({"status": "unknownOid"}) is None
