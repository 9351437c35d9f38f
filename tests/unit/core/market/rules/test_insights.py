"""What two detectors say (docs/shadow-fund.md#insights)."""

from datetime import UTC, date, datetime, timedelta

from core.market.rules.insights import (
    ClosedCoin,
    InsightKind,
    MakerLook,
    MakerUsual,
    card_key,
    drains,
    in_turn,
    is_candidate,
    maker_sign,
    one_chain,
)
from tests.each import each

ETH, TRON = frozenset({"eip155:1"}), frozenset({"tron"})
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
USUAL = MakerUsual(spread_bps=10.0, spread_mad_bps=1.0, depth_usd=100_000.0)


def coin(
    token: str = "ABC",
    depth: float | None = 50.0,
    usual: float | None = 100.0,
    chains: frozenset[str] = ETH,
    *,
    is_closed: bool = True,
) -> ClosedCoin:
    return ClosedCoin(token, chains, is_closed, depth, usual)


def coins(count: int) -> list[ClosedCoin]:
    return [coin(f"T{n}") for n in range(count)]


def test_a_closed_coin_with_half_its_book__is_drained() -> None:
    (card,) = drains("mexc", [coin()])
    assert (card.kind, card.token, card.evidence["depth_share"]) == (
        InsightKind.VENUE_DRAIN,
        "ABC",
        0.5,
    )


@each(
    "one",
    [
        coin(depth=50.1),
        coin(depth=None),
        coin(usual=None),
        coin(usual=0.0),
        coin(is_closed=False),
    ],
)
def test_a_coin_that_is_open_whole_or_not_known__is_not_drained(one: ClosedCoin) -> None:
    assert drains("mexc", [one]) == ()


def test_ten_closed_coins__are_one_card_of_the_venue() -> None:
    (card,) = drains("mexc", coins(10))
    assert (card.kind, card.token, card.evidence["count"]) == (InsightKind.VENUE_RISK, None, 10)
    assert card.evidence["is_likely_maintenance"] is True


def test_ten_closed_coins_whose_books_are_whole__are_a_card_of_the_venue_too() -> None:
    whole = [coin(f"T{n}", depth=100.0) for n in range(10)]
    assert [one.kind for one in drains("mexc", whole)] == [InsightKind.VENUE_RISK]


def test_a_chain_of_eight_in_ten__is_likely_maintenance() -> None:
    assert one_chain([ETH] * 8 + [TRON] * 2) == "eip155:1"
    assert one_chain([ETH] * 7 + [TRON] * 3) is None


def test_a_card__is_one_a_day() -> None:
    (card,) = drains("mexc", [coin()])
    assert card_key(card, date(2026, 11, 24)) == "venue_drain:mexc:ABC:2026-11-24"


def looks(
    minutes: int, spread: float = 20.0, bid: float | None = 39_000.0, ask: float | None = 39_000.0
) -> list[MakerLook]:
    return [
        MakerLook(NOON - timedelta(minutes=minutes - n), spread, bid, ask)
        for n in range(minutes + 1)
    ]


DEEP = looks(30, spread=3.0, bid=260_000.0, ask=260_000.0)


@each(
    ("seen", "sign"),
    [
        (looks(30), InsightKind.MM_EXIT),
        (looks(29), None),
        (looks(30, ask=40_000.0), None),
        (DEEP, InsightKind.MM_ENTER),
    ],
)
def test_half_an_hour_of_odd_spreads_and_sides__says_that_a_maker_left_or_came(
    seen: list[MakerLook], sign: InsightKind | None
) -> None:
    assert maker_sign(USUAL, seen) is sign


def test_one_look_between_that_is_not_known__begins_anew() -> None:
    seen = looks(40)
    seen[20] = MakerLook(seen[20].at, None, None, None)
    assert maker_sign(USUAL, seen) is None


@each("usual", [None, MakerUsual(10.0, 0.0, 1e5), MakerUsual(10.0, 1.0, 0.0)])
def test_what_is_usual_and_not_known_or_never_varies__gives_no_signal(
    usual: MakerUsual | None,
) -> None:
    assert maker_sign(usual, looks(30)) is None
    assert not is_candidate(usual, looks(30)[-1])


def test_a_spread_of_exactly_four_deviations__is_no_signal() -> None:
    at = MakerLook(NOON, 10.0 + 4 * 1.4826, 1.0, 1.0)
    assert not is_candidate(USUAL, at)


def test_what_one_exchange_says_a_thousand_times__comes_behind_the_first_of_each_other() -> None:
    said = [("loud", n) for n in range(1_000)] + [
        ("quiet", 1_000),
        ("quiet", 1_001),
        ("third", 1_002),
    ]
    heard = in_turn(said, lambda one: one[0])
    assert heard[:5] == [
        ("loud", 0),
        ("quiet", 1_000),
        ("third", 1_002),
        ("loud", 1),
        ("quiet", 1_001),
    ]
    assert sorted(heard) == sorted(said)
