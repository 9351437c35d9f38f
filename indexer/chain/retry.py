"""What was held back, tried again: each ledger from its first held fact on, until one is refused
once more.

Laws
- A fact is made again from its raw log by today's code, and goes the way that it would have gone
  then (quarantine.py).
- A step is one transaction, fenced: facts are released with the rows that say them, or not at all.
  Killed halfway, it goes on from there.
- A fact that the ledger says already is only released.
- A row has the time of its block: without the block, as while a new machine reads the chain again,
  the fact waits. Where the record has another block at that height, the fact is withdrawn: no
  rollback of blocks would, on a machine that never saw the old one.
- One ledger's trouble is its own: a row that today's code cannot read, or fails on, and a time-out
  of the database keep no other ledger from being tried.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

import structlog
from sqlalchemy.exc import SQLAlchemyError

from core.blocks import queries as chain_repository
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.db.refused import is_time_out
from core.mandate.chain.decode import decode_log
from core.mandate.queries import ledger_name
from core.mandate.rules.ledger import row_from_event
from core.quarantine import queries as repository
from core.quarantine.queries import ACCOUNT, HeldFact
from core.quarantine.views.held import held_ledgers
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT, deposit_of, ref_of
from indexer.chain.quarantine import (
    BEHIND,
    DOMAIN,
    IS_INCOMPLETE,
    NEW_ROW,
    HeldReason,
    LedgerEntry,
    Taking,
    fault_of,
    tell_whole,
)

# a step is one transaction, for which the beats of an indexer that leads wait
# (leader.keep_out_writes)
FACTS_A_STEP = 200

BLOCK_UNKNOWN = HeldReason(
    "block_unknown",
    "Its block is not read (again) yet; it is tried again when the indexer is at the head.",
)
UNTRIED = HeldReason(
    "untried", "The database timed out on the try, which says nothing of the facts; try again."
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Retried:
    """How it went with one ledger.

    `withdrawn`: facts of blocks that were replaced. `refusal` None: nothing of it is held any more.
    """

    released: int
    withdrawn: int
    refusal: HeldReason | None


class HeldFacts:
    """All that is held, tried again by the code of this process. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._refused = set[tuple[str, int]]()  # ledgers whose first fact this code refuses

    def round(self) -> list[Retried]:
        """Each ledger once, and again when what its first fact waited for may have come.

        Errors: as `retry`.
        """
        tried = list[Retried]()
        with self._chain.database.read() as session:
            held = {(one.ledger, one.ledger_id): one for one in held_ledgers(session)}
        self._refused &= held.keys()
        for ledger, one in held.items():
            if ledger in self._refused and one.reason != BEHIND:
                continue
            done = retry(self._chain, *ledger, self._clock())
            tried.append(done)
            if done.refusal is BLOCK_UNKNOWN and not done.released + done.withdrawn:
                continue  # as in each round until its block is read
            if done.refusal not in (None, UNTRIED):
                self._refused.add(ledger)
            with self._chain.database.read() as session:
                named = ledger_name(session, *ledger)
            log.warning(
                "held facts tried again",
                book=named,
                released=done.released,
                withdrawn=done.withdrawn,
                still_held=None if done.refusal is None else done.refusal.note,
            )
        return tried


def retry(chain: ChainContext, ledger: str, ledger_id: int, now: datetime) -> Retried:
    """One ledger.

    Errors: LeadershipLostError, and those of the database that are no refusal and no time-out.
    """
    released = withdrawn = 0
    while True:
        try:
            with chain.database.write() as session:
                chain.fence(session)
                taking = Taking(session, chain, ledger, now)
                done = _step(taking, ledger_id)
                if done is None:
                    tell_whole(session, [(ledger, ledger_id)], now)
                    return Retried(released, withdrawn, None)
        except SQLAlchemyError as error:
            if not is_time_out(error):
                raise
            log.exception("held facts could not be tried", ledger=ledger, ledger_id=ledger_id)
            return Retried(released, withdrawn, UNTRIED)
        released, withdrawn = released + done.released, withdrawn + done.withdrawn
        if done.refusal is not None:
            return Retried(released, withdrawn, done.refusal)


def _step(taking: Taking, ledger_id: int) -> Retried | None:
    """The next FACTS_A_STEP. None: nothing is held any more."""
    session, chain, ledger, now = taking.session, taking.chain, taking.ledger, taking.now
    facts = repository.held_facts(session, ledger, ledger_id, FACTS_A_STEP)
    if not facts:
        return None
    times, gone = _blocks_of(session, chain, ledger, facts)
    repository.withdraw_facts(session, sorted(gone), now)
    left = [fact for fact in facts if fact.id not in gone]
    facts = list(takewhile(lambda fact: fact.block_hash in times, left))
    if not facts:
        return Retried(0, len(gone), None if gone else BLOCK_UNKNOWN)
    try:
        with session.begin_nested():
            entries = [_entry(chain, ledger, fact, times[fact.block_hash]) for fact in facts]
            _, taken, refusal = taking.first(ledger_id, entries)
            repository.release(session, [fact.id for fact in facts[:taken]], now)
            if refusal is not None:
                first = facts[taken].id
                repository.refuse_again(session, first, refusal.reason, refusal.note)
    except OF_ONE_FACT as error:
        log.exception("today's code fails on held facts", ledger=ledger, ledger_id=ledger_id)
        note = f"Today's code fails on it ({type(error).__name__}); see the log."
        taken, refusal = 0, HeldReason(DOMAIN, note)
    return Retried(taken, len(gone), refusal)


def _blocks_of(
    session: WriteSession, chain: ChainContext, ledger: str, facts: Sequence[HeldFact]
) -> tuple[dict[str, int], set[int]]:
    """The times of the facts' blocks, by hash, as far as they stand in the record; and the facts in
    whose blocks' places others stand.
    """
    times = chain_repository.canonical_times(
        session, chain.chain_id, {fact.block_hash for fact in facts}
    )
    unknown = [fact for fact in facts if fact.block_hash not in times]
    read = chain_repository.read_heights(session, chain.chain_id) if unknown else range(0)
    # a report may point at a block below our first one; an entry has no time of its block
    if ledger == ACCOUNT:
        times |= {fact.block_hash: 0 for fact in unknown if fact.block_number < read.start}
    return times, {fact.id for fact in unknown if fact.block_number in read}


def _entry(chain: ChainContext, ledger: str, held: HeldFact, at: int) -> LedgerEntry:
    """`at`: the time of its block, unix seconds."""
    raw: RawLog | None = None
    try:
        fact: Mapping[str, Any] = json.loads(held.fact)
        if "log_head" in fact:  # log_proof.py lets go of it
            return LedgerEntry(None, None, None, IS_INCOMPLETE)
        if "row" in fact:
            return LedgerEntry(NEW_ROW.validate_python(fact["row"]), None)
        raw = RawLog(**{**fact["log"], "topics": tuple(fact["log"]["topics"])})
        if ledger == ACCOUNT:
            return LedgerEntry(deposit_of(raw, chain.chain_id), raw)
        event, (keeper, owner, agent) = decode_log(raw), fact["parties"]
        if event is None:
            return LedgerEntry(None, raw)
        ref = ref_of(raw, at, chain.chain_id)
        return LedgerEntry(row_from_event(event, ref, keeper, owner, agent, usdc=chain.usdc), raw)
    except OF_ONE_FACT as error:
        return LedgerEntry(None, raw, None, fault_of(error))
