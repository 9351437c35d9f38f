"""Stops as rows of the sender's, sent at once."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import structlog

from core.chain.rpc import RpcError
from core.db.engine import Database
from core.db.leadership import Leadership
from core.keeper import intents as rows
from core.keeper.intents import Intent
from core.keeper.rules import IntentState
from keeper.heads import NoHeadError
from keeper.intents import intent_of
from keeper.jobs.stop_line import WHY
from keeper.spared import spared
from keeper.state import STOPS, DueStop, IntentKind

log = structlog.get_logger("keeper")


class RushSender(Protocol):
    def rush(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]: ...


class RowStops:
    def __init__(
        self,
        database: Database,
        chain_id: int,
        leadership: Leadership,
        sender: RushSender,
        now: Callable[[], datetime],
    ) -> None:
        self._database = database
        self._chain_id = chain_id
        self._leadership = leadership
        self._sender = sender
        self._now = now

    def send(self, due: Sequence[DueStop]) -> None:
        now = self._now()
        planned = [
            intent
            for one in due
            if (intent := spared(partial(self._intent, one), vault=one.vault)) is not None
        ]
        with self._database.write() as session:
            self._leadership.fence(session)
            for intent in planned:
                rows.add_intent(session, intent, self._leadership.epoch, now)
        with self._database.read() as session:
            live = rows.live_intents(session, self._chain_id, of_requests=False)
        if not any(one.kind in STOPS and one.state is IntentState.PLANNED for one in live):
            return
        try:
            self._sender.rush(live, now, is_stood_down=False)
        except (RpcError, NoHeadError) as error:
            log.warning("stops wait", error=str(error))

    def _intent(self, due: DueStop) -> rows.NewIntent:
        assert due.reading.head is not None
        action = due.reading.action(IntentKind.STOP, due.reading.head, WHY)
        return intent_of(action, self._chain_id)
