"""A change of keeper, as the new one and the old one see it."""

from dataclasses import replace

from core.money import UnixSeconds
from keeper import plan
from keeper.state import FactoryKeepers, IntentKind, KeeperState
from tests.each import each
from tests.unit.keeper.readings import HEAD, MAX_HEAD_AGE_S, NOW, VAULT, state

FACTORY = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"
OLD, NEW = VAULT, "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
WEEK_S = 7 * 86_400


def proposed(to: str | None, since_eta_s: int = 0, own: str | None = NEW) -> KeeperState:
    keepers = FactoryKeepers(FACTORY, OLD, to, UnixSeconds(HEAD.timestamp - since_eta_s))
    return replace(state(), keepers=keepers, own=own)


@each(("since_eta_s", "accepts"), [(-1, False), (0, True), (WEEK_S, True), (WEEK_S + 1, False)])
def test_plan__accepts_from_eta_on_for_a_week(since_eta_s: int, accepts: bool) -> None:
    actions = plan.acceptances(proposed(NEW, since_eta_s), NOW)
    assert [(action.kind, action.to) for action in actions] == (
        [(IntentKind.ACCEPT, FACTORY)] if accepts else []
    )


@each(("to", "own"), [(None, NEW), (OLD, NEW), (NEW, None), (None, None)])
def test_plan__nobody_or_somebody_else_is_proposed__plans_nothing(
    to: str | None, own: str | None
) -> None:
    assert plan.acceptances(proposed(to, own=own), NOW) == []


def test_plan__stale_head_or_unread_factory__plans_nothing() -> None:
    stale = replace(proposed(NEW), head_age_s=MAX_HEAD_AGE_S + 1)
    assert plan.acceptances(stale, NOW) == []
    assert plan.acceptances(replace(proposed(NEW), keepers=None), NOW) == []


def test_is_stood_down__only_when_the_factory_is_known_to_name_another() -> None:
    assert proposed(None, own=NEW).is_stood_down
    assert not proposed(None, own=OLD).is_stood_down
    assert not proposed(None, own=None).is_stood_down
    assert not replace(proposed(None), keepers=None).is_stood_down
