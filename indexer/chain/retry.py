"""What was held back, tried again: each ledger from its first held fact on, until one is refused
once more.

Laws
- A fact is made again from its raw log by today's code, and goes the way that it would have gone
  then (quarantine.py).
- A step is one transaction, fenced: facts are released with the rows that say them, or not at all.
  Killed halfway, it goes on from there.
- One ledger's trouble is its own: what today's code cannot read or fails on stays held, and a
  time-out of the database keeps no other ledger from being tried.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.blocks import queries as chain_repository
from core.chain.blocks import RawLog
from core.db.refused import is_time_out
from core.hexes import hex_of
from core.mandate.chain.decode import decode_log
from core.mandate.queries import ledger_name
from core.mandate.rules.ledger import row_from_event
from core.quarantine import queries as repository
from core.quarantine.queries import ACCOUNT
from core.quarantine.tables import QuarantinedFact
from core.quarantine.views.held import held_ledgers
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT, deposit_of, ref_of
from indexer.chain.quarantine import (
    DOMAIN,
    INCOMPLETE,
    IS_INCOMPLETE,
    KEPT_FACT,
    HeldReason,
    LedgerEntry,
    Taking,
    fault_of,
    tell_whole,
)

# a step is one transaction, for which the beats of an indexer that leads wait
# (leader.keep_out_writes)
FACTS_A_STEP = 200

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Retried:
    """How it went with one ledger. `refusal` None: nothing of it is held any more."""

    released: int
    refusal: HeldReason | None


class HeldFacts:
    """All that is held, tried again by the code of this process. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._tried = set[int]()  # first facts of ledgers, by id

    def round(self) -> list[Retried]:
        """Each ledger once, and again when another fact has become its first.

        Errors: as `retry`, but a time-out.
        """
        tried = list[Retried]()
        with self._chain.database.read() as session:
            held = held_ledgers(session)
            names = [ledger_name(session, one.ledger, one.ledger_id) for one in held]
        new = [pair for pair in zip(held, names, strict=True) if pair[0].first not in self._tried]
        self._tried &= {one.first for one in held}
        for one, name in new:
            try:
                done = retry(self._chain, one.ledger, one.ledger_id, self._clock())
            except SQLAlchemyError as error:
                if not is_time_out(error):
                    raise
                log.exception("held facts could not be tried", book=name)
                continue
            self._tried.add(one.first)
            tried.append(done)
            why = None if done.refusal is None else done.refusal.note
            log.warning("held facts tried again", book=name, released=done.released, still_held=why)
        return tried


def retry(chain: ChainContext, ledger: str, ledger_id: int, now: datetime) -> Retried:
    """One ledger.

    Errors: LeadershipLostError, and those of the database that are no refusal.
    """
    released = 0
    while True:
        with chain.database.write() as session:
            chain.fence(session)
            facts = repository.held_facts(session, ledger, ledger_id, FACTS_A_STEP)
            if not facts:
                tell_whole(session, [(ledger, ledger_id)], now)
                return Retried(released, None)
            taken, refusal = _step(Taking(session, chain, ledger, now), ledger_id, facts)
        released += taken
        if refusal is not None:
            return Retried(released, refusal)


def _step(
    taking: Taking, ledger_id: int, facts: Sequence[QuarantinedFact]
) -> tuple[int, HeldReason | None]:
    """How many of them were taken, and why the next one was not."""
    session, chain = taking.session, taking.chain
    hashes = {hex_of(fact.block_hash) for fact in facts}
    times = chain_repository.canonical_times(session, chain.chain_id, hashes)
    try:
        with session.begin_nested():
            entries = [_entry(chain, taking.ledger, fact, times) for fact in facts]
            _, taken, refusal = taking.first(ledger_id, entries)
            repository.release(session, [fact.id for fact in facts[:taken]], taking.now)
            if refusal is not None:
                first = facts[taken].id
                repository.refuse_again(session, first, refusal.reason, refusal.note)
    except OF_ONE_FACT as error:
        log.exception("today's code fails on held facts", ledger=taking.ledger, ledger_id=ledger_id)
        note = f"Today's code fails on it ({type(error).__name__}); see the log."
        return 0, HeldReason(DOMAIN, note)
    return taken, refusal


def _entry(
    chain: ChainContext, ledger: str, held: QuarantinedFact, times: Mapping[str, int]
) -> LedgerEntry:
    """`times`: of its block, unix seconds. A row has the time of its block, or is not made."""
    raw: RawLog | None = None
    if held.reason == INCOMPLETE:  # log_proof.py lets go of it
        return LedgerEntry(None, None, None, IS_INCOMPLETE)
    try:
        fact = KEPT_FACT.validate_json(held.fact)
        raw = fact.log
        if raw is None:
            assert fact.row is not None, "a fact has a log or a row"
            return LedgerEntry(fact.row, None)
        if ledger == ACCOUNT:
            return LedgerEntry(deposit_of(raw, chain.chain_id), raw)
        event, parties = decode_log(raw), fact.parties
        if event is None:
            return LedgerEntry(None, raw)
        assert parties is not None, "a log of a mandate is kept with them"
        ref = ref_of(raw, times[raw.block_hash], chain.chain_id)
        return LedgerEntry(row_from_event(event, ref, *parties, usdc=chain.usdc), raw)
    except OF_ONE_FACT as error:
        return LedgerEntry(None, raw, None, fault_of(error))
