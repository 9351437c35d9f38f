"""A note's frontmatter, its links, and what follows from its facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import yaml

from api.areas.notes.rules.facts import (
    NoteClaim,
    NoteContract,
    NoteEvent,
    NoteFacts,
    NoteNetwork,
    NoteTier,
    NoteVenue,
    NoteWarning,
)
from api.areas.notes.rules.note import (
    backers_of,
    edges,
    frontmatter,
    letter_of,
    maker_venues,
    rendered_at,
)
from tests.each import each

NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
PRO_KEYS = ["grade_7d", "one_price_actionable_pct", "arb_hits_24h", "mm_venues"]


def venue(exchange: str, spread_bps: float | None, uptime: float | None = 1.0) -> NoteVenue:
    known = dict.fromkeys(NoteVenue.__dataclass_fields__)
    return NoteVenue(
        **known
        | {
            "exchange": exchange,
            "symbol": "X/USDT",
            "token_id": f"{exchange}_x_usdt",
            "gates": (),
            "median_spread_bps": spread_bps,
            "uptime": uptime,
        }
    )


WHOLE = NoteFacts(
    token="X",
    is_known=True,
    is_simulated=True,
    grade="A",
    grade_worst="C",
    gpa_7d=3.2,
    identity="collision",
    transfer="partial",
    asset_class="crypto",
    exchanges=("binance", "okx"),
    contracts=(NoteContract("eip155:1", "0x1F", ("binance",)),),
    venues=(venue("binance", 2.0), venue("okx", 9.0)),
    arb_hits_24h=0,
    one_price_actionable_pct=12.5,
)


def front_of(facts: NoteFacts, tier: NoteTier) -> dict[str, object]:
    written = frontmatter(facts, tier, NOON)
    assert written.startswith("---\n")
    assert written.endswith("---\n")
    return dict(yaml.safe_load(written.removesuffix("---\n")))


def test_all_that_is_known__stands_in_the_order_of_the_specification() -> None:
    front = front_of(WHOLE, NoteTier.PRO)
    assert list(front) == [
        "token", "type", "grade", "grade_worst", "identity", "contracts", "exchanges", "transfer",
        "asset_class", "updated", "source", "tier", *PRO_KEYS, "simulated",
    ]  # fmt: skip
    assert front["contracts"] == [{"chain": "eip155:1", "address": "0x1F"}]
    assert (front["updated"], front["grade_7d"], front["mm_venues"]) == (
        "2026-11-26T12:00:00Z", "B", ["binance"],
    )  # fmt: skip
    assert front["arb_hits_24h"] == 0


def test_the_free_tier__lacks_the_keys_of_pro() -> None:
    assert not set(front_of(WHOLE, NoteTier.FREE)) & set(PRO_KEYS)


def test_of_what_nobody_lists__the_grade_alone_is_null() -> None:
    front = front_of(NoteFacts(token="NO"), NoteTier.PRO)
    assert front == {
        "token": "NO", "type": "token", "grade": None, "updated": "2026-11-26T12:00:00Z",
        "source": "kg", "tier": "pro",
    }  # fmt: skip


@each(
    ("gpa", "letter"),
    [
        (4.0, "A"),
        (3.5, "A"),
        (3.49, "B"),
        (2.5, "B"),
        (1.5, "C"),
        (0.5, "D"),
        (0.49, "F"),
        (None, None),
    ],
)
def test_a_mean__is_the_nearest_letter(gpa: float | None, letter: str | None) -> None:
    assert letter_of(gpa) == letter


@each(
    ("tier", "at", "rendered"),
    [
        (NoteTier.FREE, timedelta(seconds=59), timedelta(0)),
        (NoteTier.FREE, timedelta(seconds=60), timedelta(seconds=60)),
        (NoteTier.PRO, timedelta(seconds=59), timedelta(seconds=50)),
        (NoteTier.PRO, timedelta(seconds=60), timedelta(seconds=60)),
    ],
)
def test_a_note_is_dated__by_the_seconds_it_is_kept(
    tier: NoteTier, at: timedelta, rendered: timedelta
) -> None:
    assert rendered_at(NOON + at, tier) == NOON + rendered


def test_makers__are_where_the_median_spread_is_at_most_the_usual__and_both_sides_are_there() -> (
    None
):
    venues = (venue("a", 1.0), venue("b", 2.0), venue("c", 3.0), venue("d", 1.0, uptime=0.79))
    facts = replace(WHOLE, venues=(*venues, venue("e", None), venue("f", 1.5, uptime=0.8)))
    assert maker_venues(facts) == ("a", "f")


def test_one_venue_alone__is_compared_with_nobody() -> None:
    assert maker_venues(replace(WHOLE, venues=(venue("a", 1.0), venue("b", None)))) == ()
    assert maker_venues(replace(WHOLE, venues=(venue("a", 1.0), venue("a", 2.0)))) == ()


def test_a_venue_of_many_pairs__is_compared_once_by_its_tightest() -> None:
    wide = tuple(venue("a", 9.0) for _ in range(3))
    facts = replace(WHOLE, venues=(*wide, venue("a", 3.0), venue("b", 2.0), venue("c", 4.0)))
    assert maker_venues(facts) == ("a", "b")


def test_edges__are_chains_class_flag_tokens_events_and_backers_of_verified_claims() -> None:
    claim = NoteClaim("backer", "x", "https://e.example", True, NOON, "Fund One")
    facts = replace(
        WHOLE,
        networks=(
            NoteNetwork("okx", "eip155:1", None, None, NOON, NOON, None),
            NoteNetwork("okx", "tron:0x2b6653dc", None, None, NOON, NOON, None),
        ),
        related=("WX",),
        warnings=(NoteWarning("okx", "transfer_halt", "critical", NOON),),
        events=(NoteEvent("withdraw_closed", "okx", NOON), NoteEvent("withdraw_closed", "a", NOON)),
        claims=(claim, replace(claim, is_verified=False, backer="Nobody")),
    )
    assert [one.path.partition("--")[0] for one in edges(facts)] == [
        "chain/eip155-1", "chain/tron-0x2b6653dc", "class/crypto", "flag/collision", "WX",
        "event/transfer_halt", "event/withdraw_closed", "backer/fund_one",
    ]  # fmt: skip
    assert backers_of(facts) == ("Fund One",)
