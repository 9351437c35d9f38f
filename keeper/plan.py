"""Who is read first, what is due, and what follows from what several nodes say. Pure: no socket, no
database.

    most at risk (money at stake, nearness to the floor) ... least, and between them what was left out the last time

Laws
- Every vault that is watched is read in each look. What a node did not answer in time comes first in
  the next one, after those most at risk, so that no vault is left out for good.
- What the chain calls funding has nothing to lose yet: once in UNFUNDED_S, once in OVER_S when its
  mandate is over. The record that calls its mandate working, or lacks its mark, brings it back at
  once. That a vault ended is one node's word until the record has it: it is read in each look.
- A stop needs one node, since the contract measures. A mark never reverts, so it needs a second one
  where there is one. A worth is unknown when every node says so.
- Nothing is decided on unknown worth, and nothing but stops on a stale head. At the floor is below
  it: worth == floor stops, one base unit more does not.
- A mark is sent once after the first call that spent, when worth moved by 1 % or more since the last
  one sent, once a day after a smaller move, and once after a party's stop or the terms' end. What is
  at or below the floor gets none, so that a vault never gets two from one state.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from core.chain.blocks import BlockHeader
from core.keeper.rules import LacksMark
from core.keeper.views import SourcedMark, WatchedVault
from core.mandate.rules.lifecycle import OF_VAULT, VaultStatus, settle_grace_until
from core.money import BPS_ONE, UnixSeconds
from core.times import DAY_S
from keeper.state import (
    ENDED,
    Action,
    FactoryKeepers,
    IntentKind,
    KeeperState,
    VaultReading,
)

UNFUNDED_S, OVER_S = 15.0, 3_600.0
NEAREST_BPS = 50  # of the worth; who is nearer, or unread, is no nearer than that
NEEDED = 2  # voices
MOVED_BPS = 100  # inclusive: a move of exactly 1 % of the last sent worth is sent
MARK_EVERY_S = DAY_S  # inclusive: a smaller move is sent when the last mark is exactly a day old
WRITE_EVERY_S = 60  # inclusive: an unchanged worth is written again, to show that it was looked at
ACCEPT_S = 7 * 86_400  # from `eta` on, both ends included; then the proposal has lapsed


class Order:
    """Remembers when each vault was looked at that has nothing to lose. `clock`: seconds that only
    rise.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._idle: dict[str, float] = {}

    def due(self, watched: Iterable[WatchedVault], now: UnixSeconds) -> list[WatchedVault]:
        due, idle = list[WatchedVault](), dict[str, float]()
        for vault in watched:
            seen = self._idle.get(vault.vault)
            is_awaited = vault.is_recorded_at_work or vault.lacks_mark or vault.recorded_end
            if seen is not None and not is_awaited:
                idle[vault.vault] = seen
                is_over = vault.ends_at is not None and vault.ends_at <= now
                if self._clock() - seen < (OVER_S if is_over else UNFUNDED_S):
                    continue
            due.append(vault)
        self._idle = idle
        return sorted(due, key=at_risk, reverse=True)

    def note(self, readings: Iterable[VaultReading]) -> None:
        for reading in readings:
            if reading.status is VaultStatus.FUNDING:
                self._idle[reading.vault] = self._clock()
            elif self._idle:
                self._idle.pop(reading.vault, None)


def at_risk(vault: WatchedVault) -> int:
    """Money at stake, as it was judged last, divided by the part of it that is above the floor.

    A dust vault at its floor comes after any that holds a few hundred times as much; what the record
    does not call working and nobody has judged yet holds nothing.
    """
    seen, floor = vault.last_written, vault.floor_usdc_e6
    if seen is None and not vault.is_recorded_at_work:
        return 0
    if seen is None or seen.worth_usdc_e6 is None or not floor:
        return vault.budget_usdc_e6 * BPS_ONE // NEAREST_BPS
    worth = max(seen.worth_usdc_e6, 1)
    above_bps = (worth - floor) * BPS_ONE // worth
    return worth * BPS_ONE // max(above_bps, NEAREST_BPS)


def in_turn(
    ranked: Sequence[WatchedVault], size: int, left_out: Mapping[str, int]
) -> list[WatchedVault]:
    """Those most at risk, so many that a call takes; then those that were left out of the last look,
    in the order that they had there, and the others.
    """
    rest = sorted(ranked[size:], key=lambda one: left_out.get(one.vault, len(ranked)))
    return [*ranked[:size], *rest]


# What is due


def is_fallen(reading: VaultReading) -> bool:
    """To be stopped: it works, its worth is known and at or below its floor, and its end is not
    reached, from which on the vault takes no stop.

    Source: MandateVault.enforceStopLine.
    """
    above = reading.above_floor_usdc_e6()
    is_below = reading.status is VaultStatus.WORKING and above is not None and above <= 0
    return is_below and (reading.block is None or reading.is_for_anyone(reading.block))


def settlements(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """One for each ended vault that has none under way. The end goes by the block's time."""
    return [
        reading.action(IntentKind.SETTLE, state.head, "ended")
        for reading in state.vaults
        if not state.is_stale
        and IntentKind.SETTLE not in state.live_of(reading)
        and is_to_be_settled(reading, state.head)
    ]


def is_to_be_settled(reading: VaultReading, head: BlockHeader) -> bool:
    """In the day after the end: a vault that still works, after its last mark where it can be had,
    since it takes none then; or a stopped one that owes a fee, since its owner withdraws anyway.
    Later anyone may settle.

    An unknown end, status or fee says no. Source: MandateVault.settle.
    """
    ends_at, lacks_mark = reading.watched.ends_at, reading.watched.lacks_mark
    is_in_grace = (
        ends_at is not None and settle_grace_until(ends_at, UnixSeconds(head.timestamp)) is not None
    )
    owes = reading.status is VaultStatus.STOPPED and bool(reading.fee_owed_usdc_e6)
    return (
        is_in_grace
        and (lacks_mark is not LacksMark.OVER or reading.worth_usdc_e6 is None)
        and (reading.status is VaultStatus.WORKING or owes)
    )


def acceptances(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """One, when this process holds the key that the factory's admin proposed, and may accept.

    Source: MandateVaultFactory.acceptKeeper.
    """
    keepers = state.keepers
    if keepers is None or state.is_stale or state.own is None or keepers.pending != state.own:
        return []
    may_accept = keepers.eta <= state.head.timestamp <= keepers.eta + ACCEPT_S
    return (
        [Action(IntentKind.ACCEPT, keepers.factory, state.head, "proposed")] if may_accept else []
    )


def marks(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """At most one a vault; none on a stale head, on unknown worth, or while one is under way."""
    if state.is_stale:
        return []
    due = (
        (reading, why_marked(reading, state.head, now))
        for reading in state.vaults
        if not state.live_of(reading)
    )
    return [
        reading.action(IntentKind.MARK, state.head, why) for reading, why in due if why is not None
    ]


def why_marked(reading: VaultReading, head: BlockHeader, now: UnixSeconds) -> str | None:
    """`first`, `moved`, `daily`, `ended`, `terms_ended`; None: no mark is to be sent.

    It is measured against the last one sent, or the funding where none was.
    """
    worth, above, vault = reading.worth_usdc_e6, reading.above_floor_usdc_e6(), reading.watched
    if vault.lacks_mark is LacksMark.END:
        return LacksMark.END if worth is not None and reading.status in ENDED else None
    if reading.status is not VaultStatus.WORKING or worth is None or above is None:
        return None
    sent_usdc_e6, sent_at = vault.budget_usdc_e6, vault.created_at
    if vault.last_sent is not None and vault.last_sent.worth_usdc_e6 is not None:
        if head.number <= vault.last_sent.block_number:
            return None
        sent_usdc_e6 = vault.last_sent.worth_usdc_e6
        sent_at = int(vault.last_sent.at.timestamp())
    if vault.lacks_mark is LacksMark.OVER and not reading.is_for_anyone(head):
        return LacksMark.OVER  # at the floor too: the vault takes no other stop any more
    if above <= 0:
        return None
    if vault.lacks_mark is LacksMark.FIRST:
        return LacksMark.FIRST
    moved = abs(worth - sent_usdc_e6)
    if moved and moved * BPS_ONE >= sent_usdc_e6 * MOVED_BPS:
        return "moved"
    return "daily" if moved and now - sent_at >= MARK_EVERY_S else None


def judgements(
    state: KeeperState, now: UnixSeconds, acted: Collection[str] = ()
) -> list[VaultReading]:
    """The readings that the record should keep: first ones, those that say something new or led to
    an action (`acted`: of these vaults), and one a minute of the others.

    A stale head, a vault that is not working and one whose floor was never read give no judgement.
    Unknown worth is a judgement, and is kept as unknown.
    """
    if state.is_stale:
        return []
    return [
        r
        for r in state.vaults
        if r.status in (VaultStatus.WORKING, None) and r.floor_usdc_e6 is not None
        if r.vault in acted or _is_news(r, state.head, now)
    ]


def _is_news(reading: VaultReading, head: BlockHeader, now: UnixSeconds) -> bool:
    last = reading.watched.last_written
    if last is None or last.source != reading.source or _says_more(last, reading):
        return True
    block = reading.block or head
    return block.number != last.block_number and now - int(last.at.timestamp()) >= WRITE_EVERY_S


def _says_more(last: SourcedMark, reading: VaultReading) -> bool:
    """The worth became known or unknown, crossed the floor, or moved by 1 % or more of what was
    written last.
    """
    worth, was, floor = reading.worth_usdc_e6, last.worth_usdc_e6, reading.floor_usdc_e6
    if worth is None or was is None or floor is None:
        return (worth is None) != (was is None)
    moved = abs(worth - was)
    return (worth <= floor) != (was <= floor) or (moved > 0 and moved * BPS_ONE >= was * MOVED_BPS)


# Several nodes


@dataclass(slots=True)
class NodeReadings:
    """One node's word in this tick. `head_age_s`: seconds of a clock that only rises since it named a
    higher block than before.
    """

    node: str
    head: BlockHeader
    head_age_s: float
    keepers: FactoryKeepers | None
    by_vault: dict[str, VaultReading] = field(default_factory=dict)


def merged(nodes: Sequence[NodeReadings], vaults: Iterable[str]) -> list[VaultReading]:
    """Of each vault the first reading that knows what it is worth, or that it is not working; else
    the first that knows its status; else any. Vaults that no node spoke of are left out.
    """
    found = list[VaultReading]()
    for vault in vaults:
        readings = [one.by_vault[vault] for one in nodes if vault in one.by_vault]
        if readings:
            found.append(readings[0] if len(readings) == 1 else min(readings, key=_ignorance))
    return found


def _ignorance(reading: VaultReading) -> int:
    if reading.status is None:
        return 2
    is_known = reading.status is not VaultStatus.WORKING or reading.worth_usdc_e6 is not None
    return 0 if is_known else 1


def keepers(nodes: Iterable[NodeReadings], own: str | None) -> FactoryKeepers | None:
    """Whom the factory names: any node that names `own` is believed, and any that proposes it."""
    named = [one.keepers for one in nodes if one.keepers is not None]
    return min(named, key=lambda one: (own != one.named, own != one.pending), default=None)


def confirmed(planned: Iterable[Sequence[Action]], needed: int) -> list[Action]:
    """What so many nodes plan, each by its own readings; in the words of the first."""
    found: dict[tuple[str, str], list[Action]] = {}
    for actions in planned:
        for action in actions:
            found.setdefault((action.kind, action.to), []).append(action)
    return [votes[0] for votes in found.values() if len(votes) >= needed]


def agreed_status(nodes: Iterable[NodeReadings], vault: str) -> str | None:
    """Its status, as the record calls that, by the word of each node that spoke of it."""
    readings = (node.by_vault.get(vault) for node in nodes)
    statuses = {one.status for one in readings if one is not None and one.status is not None}
    return OF_VAULT.get(statuses.pop()) if len(statuses) == 1 else None
