"""Marks above the floor: which are sent to the chain, and which are only written down.

Every vault is judged every tick. A judgement is written down once a minute, and at once when it
says something new. A mark is sent once after the first call that spent, when worth moved by 1 % or
more since the last one sent, at least once a day after a move, and once after a party's stop or the
terms' end; the rest are rows. What is at or below the floor belongs to keeper.jobs.stop_line, so that a vault never
gets two marks from one state.
"""

from collections.abc import Collection

from core.keeper.rules import LacksMark
from core.keeper.views import SourcedMark
from core.mandate.rules.lifecycle import VaultStatus
from core.money import BPS_ONE, UnixSeconds
from core.times import DAY_S
from keeper.state import ENDED, Action, Head, IntentKind, KeeperState, VaultReading

MOVED_BPS = 100  # inclusive: a move of exactly 1 % of the last sent worth is sent
# inclusive: a smaller move is sent when the last mark is exactly a day old
MARK_EVERY_S = DAY_S
# inclusive: an unchanged worth is written down again once a minute, so that the record shows it was
# looked at
WRITE_EVERY_S = 60


def plan(state: KeeperState, now: UnixSeconds) -> list[Action]:
    """At most one mark a vault; none on a stale head, on unknown worth, or while one is under
    way.
    """
    if state.is_stale:
        return []
    due = ((reading, why_due(reading, state.head, now)) for reading in state.vaults)
    return [
        reading.action(IntentKind.MARK, state.head, why) for reading, why in due if why is not None
    ]


def why_due(reading: VaultReading, head: Head, now: UnixSeconds) -> str | None:
    """`first`, `moved`, `daily`, `ended`, `terms_ended`; None: no mark is to be sent."""
    if reading.lacks_mark is LacksMark.END:
        is_due = reading.worth_usdc_e6 is not None and not reading.live
        return LacksMark.END if is_due and reading.status in ENDED else None
    above = reading.above_floor_usdc_e6()
    if reading.status is not VaultStatus.WORKING or reading.worth_usdc_e6 is None or above is None:
        return None
    if reading.live or head.number <= reading.last_sent.block_number:
        return None
    if reading.lacks_mark is LacksMark.OVER and not reading.is_for_anyone(head):
        return LacksMark.OVER  # at the floor too: the vault takes no other stop any more
    if above <= 0:
        return None
    if reading.lacks_mark is LacksMark.FIRST:
        return LacksMark.FIRST
    moved = abs(reading.worth_usdc_e6 - reading.last_sent.worth_usdc_e6)
    if moved and moved * BPS_ONE >= reading.last_sent.worth_usdc_e6 * MOVED_BPS:
        return "moved"
    return "daily" if moved and now - reading.last_sent.at >= MARK_EVERY_S else None


def rows_to_write(
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
        if _is_judged(r) and (r.vault in acted or _is_news(r, state.head, now))
    ]


def _is_judged(reading: VaultReading) -> bool:
    return reading.status in (VaultStatus.WORKING, None) and reading.floor_usdc_e6 is not None


def _is_news(reading: VaultReading, head: Head, now: UnixSeconds) -> bool:
    last = reading.last_written
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
