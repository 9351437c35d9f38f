"""What a ledger refuses is set aside, so that one bad fact stops neither the other ledgers nor the
loop.

    all ledgers in one savepoint --> done                     nearly always; a savepoint is all that it costs
          '- refused --> each ledger alone, block by block
                         |  blocks before the refused one: the ledger says them
                         '- it, and all of this ledger after it: held

    what is held, tried again --> each ledger from its first held fact on, until one is refused once more

Laws
- Each block that is tried alone, and each ledger that is held, is a sign of the loop: a thousand
  bad ledgers take minutes, in one transaction.
- Held is only what is refused for what it says: by the database with SQLSTATE class 22 or 23, or by
  a rule of the domain. A full disk, a lost connection, a time-out of a lock or a lost lead fail the
  round, which is tried again. So does a defect of ours in the writing of ledgers (TypeError,
  KeyError, ...): it would hold all of them. In the making of one fact it is that fact's trouble.
- A ledger that lacks a fact gets none of the later ones: they queue behind it, in order, so that it
  is never wrong, only short.
- Facts are held in the transaction of their block, under its fence. A reorg that orphans the block
  withdraws them.
- Owners have an alert while their record is held, and no longer: wherever held facts leave,
  `notify_whole` follows in the same transaction.
- A fact that is tried again is made from its raw log by today's code, and goes the way that it would
  have gone then. A step is one transaction, fenced: facts are released with the rows that say them,
  or not at all. Killed halfway, it goes on from there.
- One ledger's trouble is its own: what today's code cannot read or fails on stays held, and a
  time-out of the database keeps no other ledger from being tried.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

import structlog
from psycopg import Error as PsycopgError
from pydantic import TypeAdapter
from sqlalchemy.exc import SQLAlchemyError, StatementError

from core.alerts import queries as alerts
from core.blocks.queries import block_time, canonical_times
from core.chain.abi import AbiDecodeError
from core.chain.blocks import RawLog
from core.db.engine import WriteSession
from core.db.refused import constraint_of, is_time_out, refused_state
from core.errors import MandateError
from core.hexes import bytes_of, hex_of
from core.mandate.chain.decode import decode_log
from core.mandate.queries import ledger_name, names_of, owners_of, public_ids_of
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow
from core.quarantine import queries as repository
from core.quarantine.queries import ACCOUNT, MANDATE, NewHeld, held_among
from core.quarantine.tables import QuarantinedFact
from core.quarantine.views.held import held_ledgers, instant
from core.transfers.ledger.writer import NewTransfer
from core.transfers.reports import post_deposits
from indexer.chain import ledgers
from indexer.chain.context import ChainContext
from indexer.chain.facts import OF_ONE_FACT, deposit_of, ref_of

# what rules of the domain, and a number out of range, raise
OF_A_RULE = (MandateError, ValueError, ArithmeticError)
# `refusal_of` says whether it does
MAY_REFUSE = (SQLAlchemyError, PsycopgError, AbiDecodeError, *OF_A_RULE)
# reasons
DATABASE, DOMAIN, UNDECODABLE, BEHIND = "database", "domain", "undecodable", "behind"
INCOMPLETE = "incomplete"

# of held facts; a step is one transaction, for which the writes at the head wait
FACTS_A_STEP = 200
TRY_AGAIN = timedelta(minutes=10)

log = structlog.get_logger(__name__)

Parties = tuple[str, str, str | None]  # keeper, owner and agent at the moment of a log


@dataclass(frozen=True, slots=True)
class HeldReason:
    """Why a fact is held.

    `note`: one sentence of ours; nothing that the chain or the database worded is in it.
    """

    reason: str
    note: str


@dataclass(slots=True)
class LedgerEntry:
    """What the chain says to one ledger.

    `row` None: none could be made of the log, and `fault` says why; without a `fault` the ledger
    has none for it. `log` None: a reverted call, or a note of the factory.
    """

    row: NewRow | NewTransfer | None = None
    log: RawLog | None = None
    parties: Parties | None = None
    fault: HeldReason | None = None

    @property
    def block_number(self) -> int | None:
        """None: of a held fact that cannot be read any more."""
        if self.log is not None:
            return self.log.block_number
        return self.row.block_number if isinstance(self.row, NewRow) else None


# what a held fact is tried again from: its raw log, or the row of one that has none
ENTRY: TypeAdapter[LedgerEntry] = TypeAdapter(LedgerEntry)
IS_INCOMPLETE = HeldReason(
    INCOMPLETE,
    "Logs of the vault are missing or wrong: they do not produce the vault's own hash of them.",
)
WAITS = HeldReason(BEHIND, "It waits because an earlier fact of this ledger is held.")


def refusal_of(error: BaseException) -> HeldReason | None:
    """Why the data is refused; None for an error that says nothing of the data."""
    state = refused_state(error)
    if state is not None:
        named = constraint_of(error)
        return HeldReason(
            DATABASE,
            "The database refuses it (SQLSTATE "
            f"{state}{'' if named is None else f', constraint {named}'}).",
        )
    if isinstance(error, AbiDecodeError):
        return HeldReason(UNDECODABLE, "The log does not match the contract's ABI.")
    cause = error.orig if isinstance(error, StatementError) else error
    return _of_a_rule(cause) if isinstance(cause, OF_A_RULE) else None


def fault_of(error: Exception) -> HeldReason:
    """Why one fact could not be made. `error`: one of OF_ONE_FACT."""
    return refusal_of(error) or _of_a_rule(error)


def _of_a_rule(error: BaseException) -> HeldReason:
    return HeldReason(DOMAIN, f"A rule of the ledger refuses it ({type(error).__name__}).")


@dataclass(frozen=True, slots=True)
class Taking:
    """Appends to ledgers of one kind what they take, in one transaction, and holds the rest.

    Errors: those of the database that say nothing of the data.
    """

    session: WriteSession
    chain: ChainContext
    ledger: str
    now: datetime

    def take(self, waiting: Mapping[int, Sequence[LedgerEntry]]) -> int:
        """By ledger what the chain says to it; how many rows were new."""
        if not waiting:
            return 0
        held = held_among(self.session, self.ledger, waiting.keys())
        whole = {
            one: entries
            for one, entries in waiting.items()
            if one not in held and not any(entry.fault for entry in entries)
        }
        count, refusal = self._append(whole)
        for ledger_id in sorted(waiting.keys() - (whole.keys() if refusal is None else ())):
            entries = waiting[ledger_id]
            new, taken, why = (0, 0, WAITS) if ledger_id in held else self.first(ledger_id, entries)
            count += new
            if why is not None:
                self._hold(ledger_id, entries[taken:], why)
        return count

    def first(
        self, ledger_id: int, entries: Sequence[LedgerEntry]
    ) -> tuple[int, int, HeldReason | None]:
        """Append to one ledger, held or not, up to the first block that it refuses: how many rows
        were new, how many entries were taken, and why the next block is not.
        """
        count, refusal = self._append({ledger_id: entries})
        if refusal is None:
            return count, len(entries), None
        taken = 0
        for _, found in groupby(entries, lambda entry: entry.block_number):
            block = list(found)
            new, refusal = self._append({ledger_id: block})
            if refusal is not None:
                break
            count, taken = count + new, taken + len(block)
        return count, taken, refusal

    def _append(
        self, waiting: Mapping[int, Sequence[LedgerEntry]]
    ) -> tuple[int, HeldReason | None]:
        """All of it or nothing: how many rows were new, or why not."""
        faults = [one.fault for entries in waiting.values() for one in entries if one.fault]
        if faults:
            return 0, faults[0]
        rows = {
            ledger_id: found
            for ledger_id, entries in waiting.items()
            if (found := [one.row for one in entries if one.row is not None])
        }
        if not rows:
            return 0, None
        append = ledgers.append if self.ledger == MANDATE else post_deposits
        try:
            with self.session.begin_nested():
                return append(self.session, rows, self.now), None  # type: ignore[arg-type]  # rows of one kind of ledger
        except MAY_REFUSE as error:
            refusal = refusal_of(error)
            if refusal is None:
                raise
            self.chain.sign()
            log.warning(
                "ledgers refuse rows",
                ledger=self.ledger,
                ledgers=len(rows),
                rows=sum(map(len, rows.values())),
                error=f"{type(error).__name__}: {str(error)[:200]!a}",
            )
            return 0, refusal

    def _hold(self, ledger_id: int, entries: Sequence[LedgerEntry], why: HeldReason) -> None:
        facts = [_held_fact(entry, why if at == 0 else WAITS) for at, entry in enumerate(entries)]
        self.chain.sign()
        first = facts[0]
        hold(self.session, self.chain.chain_id, self.ledger, ledger_id, facts, self.now)
        log.log(
            logging.INFO if why is WAITS else logging.ERROR,
            "facts are waiting behind a held one" if why is WAITS else "fact held back",
            book=ledger_name(self.session, self.ledger, ledger_id),
            block=first.block_number,
            tx_hash=hex_of(first.tx_hash),
            log_index=first.log_index,
            queue=len(facts),
            reason=why.reason,
            note=why.note,
        )


def hold(
    session: WriteSession,
    chain_id: int,
    ledger: str,
    ledger_id: int,
    facts: Sequence[NewHeld],
    now: datetime,
) -> None:
    """Hold these. The owner is alerted to the first, unless it waits behind another."""
    repository.hold(session, chain_id, ledger, ledger_id, facts, now)
    first = facts[0]
    if ledger != MANDATE or not first.tries:
        return
    block = {
        "chain_id": chain_id,
        "tx_hash": first.tx_hash,
        "log_index": first.log_index,
        "block_number": first.block_number,
        "block_hash": first.block_hash,
    }
    payload = {
        "event": "RecordHeld",
        "args": {"from_block": str(first.block_number), "reason": first.reason, "note": first.note},
        "mandate_id": public_ids_of(session, {ledger_id})[ledger_id],
    }
    at = instant(block_time(session, chain_id, hex_of(first.block_hash))) or now
    alerts.add_record_held(session, owners_of(session, [ledger_id]), block, payload, at, now)


def notify_whole(session: WriteSession, ledgers: Iterable[tuple[str, int]], now: datetime) -> None:
    """Held facts of these ledgers, as (kind, id), left: the alerts of those that hold nothing any
    more are withdrawn.
    """
    mandates = {ledger_id for ledger, ledger_id in ledgers if ledger == MANDATE}
    whole = mandates - held_among(session, MANDATE, mandates)
    if whole:
        alerts.withdraw_of_mandates(session, alerts.RECORD_HELD, names_of(session, whole), now)


def _held_fact(entry: LedgerEntry, why: HeldReason) -> NewHeld:
    row, raw = entry.row, entry.log
    if raw is not None:
        key = f"log:{raw.tx_hash.lower()}:{raw.log_index}" if row is None else row.base_key
        place = raw.block_number, raw.block_hash, raw.tx_hash
        return _new_held(key, place, why, LedgerEntry(log=raw, parties=entry.parties))
    assert isinstance(row, NewRow), "a reverted call or a note, whose row could be made"
    place = row.block_number or 0, row.block_hash or "", row.tx_hash or ""
    return _new_held(row.base_key, place, why, LedgerEntry(row))


def incomplete_key(vault: str) -> str:
    return f"log_head:{vault}"


def incomplete_fact(vault: str, number: int, block_hash: str) -> NewHeld:
    """What keeps a ledger from going on until its vault's logs are proven (log_proof.py). The block:
    of the newest log that is.
    """
    place = number, block_hash, "0x" + "00" * 32
    return _new_held(incomplete_key(vault), place, IS_INCOMPLETE, LedgerEntry())


def _new_held(key: str, place: tuple[int, str, str], why: HeldReason, fact: LedgerEntry) -> NewHeld:
    """`place`: height and hash of its block, and its transaction."""
    raw = fact.log
    return NewHeld(
        base_key=key,
        block_number=place[0],
        block_hash=bytes_of(place[1]),
        tx_hash=bytes_of(place[2]),
        log_index=None if raw is None else raw.log_index,
        address=None if raw is None else bytes_of(raw.address),
        topic=bytes_of(raw.topics[0]) if raw is not None and raw.topics else None,
        reason=why.reason,
        note=why.note,
        fact=ENTRY.dump_json(fact, ensure_ascii=True, exclude_defaults=True),
        tries=0 if why is WAITS else 1,
    )


# What is held, tried again


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
        self._again_at: dict[int, datetime] = {}  # by the id of a ledger's first fact

    def round(self) -> list[Retried]:
        """Each ledger at the start and every TRY_AGAIN, and when another fact has become its first.

        Errors: as `retry`, but a time-out.
        """
        tried, now = list[Retried](), self._clock()
        with self._chain.database.read() as session:
            held = held_ledgers(session)
            new = [
                (one, ledger_name(session, one.ledger, one.ledger_id))
                for one in held
                if self._again_at.get(one.first, now) <= now
            ]
        still = {one.first for one in held} & self._again_at.keys()
        self._again_at = {first: self._again_at[first] for first in still}
        for one, name in new:
            try:
                done = retry(self._chain, one.ledger, one.ledger_id, self._clock())
            except SQLAlchemyError as error:
                if not is_time_out(error):
                    raise
                log.exception("could not retry held facts", book=name)
                continue
            self._again_at[one.first] = now + TRY_AGAIN
            tried.append(done)
            why = None if done.refusal is None else done.refusal.note
            log.warning("retried held facts", book=name, released=done.released, still_held=why)
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
                notify_whole(session, [(ledger, ledger_id)], now)
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
    times = canonical_times(session, chain.chain_id, hashes)
    try:
        with session.begin_nested():
            entries = [_entry(chain, taking.ledger, fact, times) for fact in facts]
            _, taken, refusal = taking.first(ledger_id, entries)
            repository.release(session, [fact.id for fact in facts[:taken]], taking.now)
            if refusal is not None:
                first = facts[taken].id
                repository.refuse_again(session, first, refusal.reason, refusal.note)
    except OF_ONE_FACT as error:
        log.exception("this code fails on held facts", ledger=taking.ledger, ledger_id=ledger_id)
        note = f"This code fails on it ({type(error).__name__}); see the log."
        return 0, HeldReason(DOMAIN, note)
    return taken, refusal


def _entry(
    chain: ChainContext, ledger: str, held: QuarantinedFact, times: Mapping[str, int]
) -> LedgerEntry:
    """`times`: of its block, unix seconds. A row has the time of its block, or is not made."""
    if held.reason == INCOMPLETE:  # log_proof.py lets go of it
        return LedgerEntry(fault=IS_INCOMPLETE)
    fact = LedgerEntry()
    try:
        fact = ENTRY.validate_json(held.fact)
        raw, parties = fact.log, fact.parties
        if raw is None:
            assert fact.row is not None, "a fact has a log or a row"
            return fact
        if ledger == ACCOUNT:
            return LedgerEntry(deposit_of(raw, chain.chain_id), raw)
        event = decode_log(raw)
        if event is None:
            return LedgerEntry(log=raw)
        assert parties is not None, "a log of a mandate is kept with them"
        ref = ref_of(raw, times[raw.block_hash], chain.chain_id)
        return LedgerEntry(row_from_event(event, ref, *parties, usdc=chain.usdc), raw)
    except OF_ONE_FACT as error:
        return LedgerEntry(log=fact.log, fault=fault_of(error))
