"""A new keeper: the one that the factory's admin proposed accepts when its time has come.

The change takes two steps and at least 48 hours on chain. From the moment at which the factory
names another keeper, this one stands down (KeeperState.is_stood_down). Source:
MandateVaultFactory.acceptKeeper.
"""

from core.money import UnixSeconds
from keeper.state import Action, IntentKind, KeeperState

WHY = "proposed"
ACCEPT_S = 7 * 86_400  # from `eta` on, both ends included; then the proposal has lapsed


def plan(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """One acceptance when this process holds the proposed key and may accept."""
    keepers = state.keepers
    if keepers is None or state.is_stale or state.own is None or keepers.pending != state.own:
        return []
    may_accept = keepers.eta <= state.head.at <= keepers.eta + ACCEPT_S
    return [Action(IntentKind.ACCEPT, keepers.factory, state.head, WHY)] if may_accept else []
