"""One tick: observe every vault at one block, plan, write down what is decided, move what is under way.

        Postgres: watched vaults, live intents --> chain: their numbers at one hash --> jobs: actions
        --> Postgres: marks and planned intents, one fenced transaction --> sender: one transition after another

Without a signer it is a dry run: everything is judged and written down, nothing is planned or sent.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from core.db.engine import Database
from core.db.leadership import Leadership
from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, NewVaultMark
from core.domain.money import UnixSeconds, usdc_text, usdc_text_or_none
from keeper import intents
from keeper.intents import Step
from keeper.jobs import mark, stop_line
from keeper.observe import Observer
from keeper.state import Action, KeeperState, VaultReading, VaultStatus

JOBS: tuple[Callable[[KeeperState, UnixSeconds], list[Action]], ...] = (stop_line.plan, mark.plan)

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class TickReport:
    """What a tick saw and did; `as_status` is the leader row's own words."""

    head_number: int
    head_age_s: int
    is_stale: bool
    vaults: int
    unknown: int
    actions: int
    live_intents: int
    took_ms: int

    def as_status(self, mode: str) -> dict[str, Any]:
        return {
            "state": "degraded" if self.is_stale else "watching",
            "mode": mode,
            "head": self.head_number,
            "head_age_s": self.head_age_s,
            "vaults": self.vaults,
            "unknown": self.unknown,
            "live_intents": self.live_intents,
            "tick_ms": self.took_ms,
            "error": "the head is stale" if self.is_stale else None,
        }


class Tick:
    """Everything that one tick needs. `step` None = dry run."""

    def __init__(
        self,
        *,
        database: Database,
        observer: Observer,
        leadership: Leadership,
        chain_id: int,
        step: Step | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._observer = observer
        self._leadership = leadership
        self._chain_id = chain_id
        self._step = step
        self._clock = clock
        self._was_stale = False

    @property
    def mode(self) -> str:
        return "dry_run" if self._step is None else "sending"

    def run(self, now: datetime) -> TickReport:
        """One tick. Errors: RpcError and NoHeadError when the chain can't be read, LeadershipLostError, the database's."""
        started = self._clock()
        state, live = self._observed()
        seconds = UnixSeconds(int(now.timestamp()))
        self._tell_a_stale_head(state, seconds)
        actions = [action for job in JOBS for action in job(state, seconds)]
        live = [*live, *self._written(state, actions, seconds, now)]
        if self._step is not None:
            live = [intent for intent in intents.advance(self._step, live, now) if intent.state not in rows.TERMINAL]
        return _report(state, seconds, actions, live, round((self._clock() - started) * 1000))

    def _observed(self) -> tuple[KeeperState, list[Intent]]:
        with self._database.read() as session:
            watched = rows.watched_vaults(session, self._chain_id)
            live = rows.live_intents(session, self._chain_id)
        return self._observer.state(watched, intents.live_kinds(live)), live

    def _written(self, state: KeeperState, actions: Sequence[Action], seconds: UnixSeconds, now: datetime) -> list[Intent]:
        """Write the marks, and the actions as planned intents unless this is a dry run. Answers the new intents."""
        readings = mark.rows_to_write(state, seconds)
        for reading in filter(_is_unknown, readings):
            log.warning("worth unknown", vault=reading.vault, mandate=reading.public_id, source=reading.source)
        if self._step is None:
            for action in actions:
                log.info("would send", **_told(action))
            actions = []
        if not readings and not actions:
            return []
        with self._database.write() as session:
            self._leadership.fence(session)
            rows.add_vault_marks(session, [_row(state, reading) for reading in readings], now)
            added = intents.record(session, actions, self._chain_id, self._leadership.epoch, now)
        for action in actions:
            log.info("planned", **_told(action))
        return added

    def _tell_a_stale_head(self, state: KeeperState, now: UnixSeconds) -> None:
        """Once when it begins and once when it ends: an idle chain would fill the log."""
        is_stale = state.is_stale(now)
        if is_stale != self._was_stale:
            tell = log.warning if is_stale else log.info
            what = "stale head, nothing is judged" if is_stale else "head is fresh again"
            tell(what, head=state.head.number, head_age_s=state.head.age_s(now), max_head_age_s=state.max_head_age_s)
        self._was_stale = is_stale


def _is_unknown(reading: VaultReading) -> bool:
    """A vault that may be working and can't be judged."""
    return reading.status in (None, VaultStatus.WORKING) and reading.above_floor_usdc_e6() is None


def _row(state: KeeperState, reading: VaultReading) -> NewVaultMark:
    assert reading.floor_usdc_e6 is not None  # rows_to_write
    return NewVaultMark(
        chain_id=state.chain_id,
        vault=reading.vault,
        block_number=state.head.number,
        block_hash=state.head.hash,
        worth_usdc_e6=reading.worth_usdc_e6,
        floor_usdc_e6=reading.floor_usdc_e6,
        source=reading.source,
    )


def _told(action: Action) -> dict[str, Any]:
    return {
        "kind": action.kind.value,
        "vault": action.vault,
        "worth_usdc": usdc_text_or_none(action.worth_usdc_e6),
        "floor_usdc": usdc_text(action.floor_usdc_e6),
        "block": action.head.number,
        "why": action.why,
    }


def _report(state: KeeperState, now: UnixSeconds, actions: Sequence[Action], live: Sequence[Intent], took_ms: int) -> TickReport:
    return TickReport(
        head_number=state.head.number,
        head_age_s=state.head.age_s(now),
        is_stale=state.is_stale(now),
        vaults=len(state.vaults),
        unknown=sum(map(_is_unknown, state.vaults)),
        actions=len(actions),
        live_intents=len(live),
        took_ms=took_ms,
    )
