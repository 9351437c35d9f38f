"""Who is read first, and what follows from what several nodes say: no socket, no database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from core.keeper.views import SourcedMark, WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, UsdcE6
from keeper.plan import (
    OVER_S,
    UNFUNDED_S,
    NodeReadings,
    Order,
    agreed_status,
    confirmed,
    in_turn,
    keepers,
    merged,
)
from keeper.state import Action, FactoryKeepers, IntentKind, VaultReading
from tests.each import each
from tests.unit.keeper.readings import BUDGET, CREATED_AT, FLOOR, HEAD, NOW, USDC, VAULT, reading

WHEN = datetime.fromtimestamp(NOW, UTC)
END = UnixSeconds(NOW + 1_000)


def watched(vault: str, worth: int | None = None, **changes: Any) -> WatchedVault:
    """Judged at this worth; None: never."""
    seen = None if worth is None else SourcedMark(UsdcE6(worth), 7, WHEN, "vault.worth")
    made = WatchedVault(
        vault, f"m_{vault}", BUDGET, CREATED_AT, END, None, seen, FLOOR, is_recorded_at_work=True
    )
    return replace(made, **changes)


UNFUNDED = watched("unfunded", is_recorded_at_work=False)


# Who is read first


class Place:
    """An order whose clock the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.order = Order(lambda: self.now)

    def due(self, *vaults: WatchedVault, at: int = NOW) -> list[str]:
        return [vault.vault for vault in self.order.due(vaults, UnixSeconds(at))]

    def saw(self, vault: str, status: VaultStatus) -> None:
        self.order.note([reading(None, vault=vault, status=status)])


def test_due__by_money_at_stake_and_nearness_to_the_floor() -> None:
    near, far, rich = (
        watched("near", FLOOR + 1),
        watched("far", 2 * FLOOR),
        watched("rich", 100 * FLOOR),
    )
    assert Place().due(far, UNFUNDED, near, rich, watched("unread")) == [
        "unread",
        "near",
        "rich",
        "far",
        "unfunded",
    ]


def test_due__three_thousand_dust_vaults_at_their_floors__come_after_every_customer() -> None:
    dust = [
        watched(f"dust{n}", USDC, budget_usdc_e6=UsdcE6(USDC), floor_usdc_e6=UsdcE6(USDC))
        for n in range(3_000)
    ]
    customers = [watched(f"customer{n}", 2 * FLOOR) for n in range(40)]
    assert set(Place().due(*dust, *customers)[:40]) == {one.vault for one in customers}


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
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    place.now += after_s
    assert place.due(UNFUNDED, at=at) == found


def test_due__one_that_a_node_calls_ended__is_looked_at_in_each_tick() -> None:
    """One wrong word would leave a vault that works without a stop for an hour."""
    place = Place()
    for status in (VaultStatus.STOPPED, VaultStatus.SETTLED):
        place.saw("unfunded", status)
        assert place.due(UNFUNDED) == ["unfunded"]


def test_due__one_that_is_watched_no_more__is_forgotten() -> None:
    place = Place()
    place.saw("unfunded", VaultStatus.FUNDING)
    assert place.due() == []
    assert place.due(UNFUNDED) == ["unfunded"]


def test_in_turn__those_most_at_risk_and_then_who_was_left_out() -> None:
    ranked = [watched(f"{n}") for n in range(8)]
    order = [vault.vault for vault in in_turn(ranked, 2, {"7": 0, "1": 1, "6": 2})]
    assert order == ["0", "1", "7", "6", "2", "3", "4", "5"]
    assert in_turn(ranked, 2, {}) == ranked


# Several nodes


def node(
    *readings: VaultReading,
    age_s: float = 0.0,
    named: FactoryKeepers | None = None,
) -> NodeReadings:
    return NodeReadings("node", HEAD, age_s, named, {one.vault: one for one in readings})


UNREAD = reading(None, status=None, source="unreadable")
UNVALUED = reading(None, source="unreadable")


@each(
    ("said", "found"),
    [
        ([reading(5), reading(7)], reading(5)),
        ([UNVALUED, reading(7)], reading(7)),
        ([UNREAD, UNVALUED], UNVALUED),
        ([UNVALUED, UNREAD], UNVALUED),
        (
            [reading(0, status=VaultStatus.STOPPED), reading(7)],
            reading(0, status=VaultStatus.STOPPED),
        ),
        ([UNREAD, UNREAD], UNREAD),
    ],
)
def test_merged__unknown_is_what_every_node_calls_so(
    said: list[VaultReading], found: VaultReading
) -> None:
    assert merged([node(one) for one in said], [VAULT]) == [found]


def test_merged__what_no_node_spoke_of__is_left_out() -> None:
    assert merged([node()], [VAULT]) == []


OWN, OTHER = "0x" + "11" * 20, "0x" + "22" * 20


def named(keeper: str, pending: str | None = None) -> FactoryKeepers:
    return FactoryKeepers(VAULT, keeper, pending, UnixSeconds(0))


def test_keepers__any_node_that_names_us_is_believed() -> None:
    nodes = [node(named=named(OTHER)), node(), node(named=named(OWN))]
    assert keepers(nodes, OWN) == named(OWN)
    assert keepers(nodes[:2], OWN) == named(OTHER)
    assert keepers([node()], OWN) is None


def test_keepers__any_node_that_proposes_us_is_believed() -> None:
    nodes = [node(named=named(OTHER)), node(named=named(OTHER, OWN))]
    assert keepers(nodes, OWN) == named(OTHER, OWN)


def action(vault: str, why: str = "moved") -> Action:
    return Action(IntentKind.MARK, vault, HEAD, why)


def test_confirmed__what_so_many_nodes_plan_in_the_words_of_the_first() -> None:
    planned = [[action("a"), action("b", "daily")], [action("b"), action("c")]]
    assert confirmed(planned, 2) == [action("b", "daily")]
    assert confirmed(planned, 1) == [action("a"), action("b", "daily"), action("c")]


# What ended


STOPPED = reading(None, status=VaultStatus.STOPPED)


def test_agreed_status__is_what_each_node_that_spoke_of_it_says() -> None:
    assert agreed_status([node(STOPPED), node(), node(UNREAD)], VAULT) == "stopped"
    assert agreed_status([node(STOPPED), node(reading(BUDGET))], VAULT) is None
    assert agreed_status([node(UNREAD), node()], VAULT) is None
