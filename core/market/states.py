"""The time of a change of listing states (docs/feeds.md#reading-on).

    writer A   turn 12:00:00.0 -- update ------------------- commit
    writer B            turn? ... waits for A ............... turn 12:00:01.2 -- update -- commit

Law: whoever changes states takes a turn before the first of them and gives all of them its time.
Turns end with their transactions, so that times are committed in their order: who has read up to
one has missed none before it, however long the writing took and whatever the writer's clock says.
"""

from datetime import datetime
from typing import Final

from core.db.engine import WriteSession, driver_of

# By the driver alone: thirteen venues take one each minute, and what it is built of costs more than it
# does.
_TURN: Final = """
insert into listing_state_turn as turn (id, at) values (1, %s)
on conflict (id) do update set at = greatest(turn.at + interval '1 microsecond', excluded.at) returning at"""


def take_turn(session: WriteSession, now: datetime) -> datetime:
    """The time of the states that this transaction changes from here on: `now`, or a microsecond
    after the newest turn where that is later. Errors: OperationalError past the lock timeout.
    """
    session.flush()
    row = driver_of(session).execute(_TURN, [now]).fetchone()
    assert row is not None
    turn: datetime = row[0]
    return turn
