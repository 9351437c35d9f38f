"""The time of a change of listing states (docs/feeds.md#reading-on).

    writer A   turn 12:00:00.0 -- update ------------------- commit
    writer B            turn? ... waits for A ............... turn 12:00:01.2 -- update -- commit

Law: whoever changes states takes a turn before the first of them and gives all of them its time.
Turns end with their transactions, so that times are committed in their order: who has read up to
one has missed none before it, however long the writing took and whatever the writer's clock says.
"""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func
from sqlalchemy.dialects.postgresql import insert

from core.db.engine import WriteSession
from core.market.scan_tables import MarketStateTurn

STEP: Final = timedelta(microseconds=1)


def take_turn(session: WriteSession, now: datetime) -> datetime:
    """The time of the states that this transaction changes from here on: `now`, or a microsecond
    after the newest turn where that is later. Errors: OperationalError past the lock timeout.
    """
    add = insert(MarketStateTurn).values(id=1, at=now)
    turn = add.on_conflict_do_update(
        index_elements=["id"],
        set_={"at": func.greatest(MarketStateTurn.at + STEP, add.excluded.at)},
    )
    return session.execute(turn.returning(MarketStateTurn.at)).scalar_one()
