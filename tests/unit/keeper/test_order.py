"""Which vault is looked at first, and which seldom: no socket, no database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from core.keeper.views import SourcedMark, WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, UsdcE6
from keeper.order import MOST_OVER_A_TICK, OVER_S, UNFUNDED_S, Order
from tests.each import each
from tests.unit.keeper.readings import BUDGET, CREATED_AT, FLOOR, NOW, reading

WHEN = datetime.fromtimestamp(NOW, UTC)
END = UnixSeconds(NOW + 1_000)


def watched(vault: str, worth: int | None = None, **changes: Any) -> WatchedVault:
    """Judged at this worth; None: never."""
    seen = None if worth is None else SourcedMark(UsdcE6(worth), 7, WHEN, "vault.worth")
    made = WatchedVault(
        vault, f"m_{vault}", BUDGET, CREATED_AT, END, None, seen, FLOOR, is_recorded_at_work=True
    )
    return replace(made, **changes)


class Place:
    """An order whose clock the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order = Order(lambda: self.now)

    def due(self, *vaults: WatchedVault, at: int = NOW) -> list[str]:
        return [vault.vault for vault in self.order.due(vaults, UnixSeconds(at))]

    def saw(self, vault: str, status: VaultStatus) -> None:
        self.order.note([reading(None, vault=vault, status=status)])


UNFUNDED = watched("unfunded", is_recorded_at_work=False)


def test_due__unread_vaults_at_work__come_before_those_nearest_to_their_floors() -> None:
    near, far = watched("near", FLOOR + 1), watched("far", 2 * FLOOR)
    assert Place().due(far, UNFUNDED, near, watched("unread")) == [
        "unread",
        "near",
        "far",
        "unfunded",
    ]


def test_due__one_that_was_never_funded__comes_last_and_once_in_a_while() -> None:
    place = Place()
    assert place.due(UNFUNDED) == ["unfunded"]
    place.saw("unfunded", VaultStatus.FUNDING)
    assert place.due(UNFUNDED) == []
    place.now += UNFUNDED_S
    assert place.due(UNFUNDED, watched("far", 2 * FLOOR)) == ["far", "unfunded"]


def test_due__one_that_the_record_calls_funded__is_looked_at_at_once() -> None:
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    assert place.due(replace(UNFUNDED, is_recorded_at_work=True)) == ["unfunded"]


def test_due__one_that_works__is_looked_at_in_each_tick() -> None:
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    place.saw("unfunded", VaultStatus.WORKING)
    assert place.due(UNFUNDED) == ["unfunded"]


@each(
    ("at", "after_s", "found"),
    [(END - 1, UNFUNDED_S, ["unfunded"]), (END, OVER_S - 1, []), (END, OVER_S, ["unfunded"])],
)
def test_due__never_funded_and_over__is_looked_at_seldom(
    at: int, after_s: float, found: list[str]
) -> None:
    """That it has no money is what one node said."""
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    place.now += after_s
    assert place.due(UNFUNDED, at=at) == found


def test_due__many_never_funded_and_over__are_looked_at_a_few_at_a_time() -> None:
    place = Place()
    many = [replace(UNFUNDED, vault=f"{n:04}") for n in range(MOST_OVER_A_TICK + 20)]
    for vault in many:
        place.saw(vault.vault, VaultStatus.FUNDING)
    place.now += OVER_S
    first = place.due(*many, at=END)
    assert len(first) == MOST_OVER_A_TICK
    for vault in first:
        place.saw(vault, VaultStatus.FUNDING)
    assert len(place.due(*many, at=END)) == 20


def test_due__one_that_is_watched_no_more__is_forgotten() -> None:
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    assert place.due() == []
    assert place.due(UNFUNDED) == ["unfunded"]
