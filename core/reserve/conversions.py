"""Conversions become credit, once each, and are taken back with their block.

    waiting --its block is confirmed--> credited       the reference is an account's, or the holder's claim gives it one
       |  ^                           |
       |  '--claimed-- held <---------+ no account has the reference
       '--crediting fails--> set aside, tried again later
    any of them --a reorg takes the block back--> reversed --the block is back--> waiting

Laws
- A row is credited under its lock and with its status in the same transaction; the ledger's key
  names transaction, log, block and occurrence, so that a second posting of it is the first one.
- Holders take turns: one that converts dust a thousand times holds up nobody else.
- What fails for one is set aside, and the others go on.
Source: docs/reserve.md#conversions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks.queries import not_orphaned
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock, LockClass, named
from core.hexes import hex_of
from core.money import usdc_text
from core.reserve import queries
from core.reserve.rules import ConversionStatus, credits_added, credits_taken, token_text
from core.reserve.tables import ReserveConversion, ReserveConverted

HOLDERS_A_ROUND = 50
ROWS_A_HOLDER = 4
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=6)

Place = tuple[int, str, int]  # chain id, block hash, log index

# The next holders after one in turn, and of each its oldest rows that are due: as many look-ups in
# an index as rows come back, however many wait.
_DUE = text("""
with recursive turn as (
    (select holder from reserve_conversion where status in ('waiting', 'set_aside') and holder > :after order by holder limit 1)
    union all
    select (select c.holder from reserve_conversion c where c.status in ('waiting', 'set_aside') and c.holder > t.holder
             order by c.holder limit 1)
      from turn t where t.holder is not null
), served as (select holder from turn where holder is not null limit :holders)
select s.holder, due.chain_id, due.block_hash, due.log_index
  from served s left join lateral (
    select c.chain_id, c.block_hash, c.log_index, c.number from reserve_conversion c
     where c.status in ('waiting', 'set_aside') and c.holder = s.holder and c.chain_id = :chain_id
       and c.number <= :up_to and (c.due_at is null or c.due_at <= :now)
     order by c.number, c.log_index limit :rows) due on true
 order by s.holder, due.number, due.log_index
""")


@dataclass(frozen=True, slots=True)
class DueConversions:
    """Rows that are due, with their holders, and the holder that was served last; None: the round
    begins again.
    """

    holders: dict[Place, bytes]
    last: bytes | None


def due(
    session: Session,
    chain_id: int,
    up_to: int,
    after: bytes | None,
    now: datetime,
) -> DueConversions:
    """At most HOLDERS_A_ROUND x ROWS_A_HOLDER rows at or below a height, holder by holder, from the
    one after `after` on.
    """
    found = session.execute(
        _DUE,
        {
            "after": after or b"",
            "holders": HOLDERS_A_ROUND,
            "rows": ROWS_A_HOLDER,
            "chain_id": chain_id,
            "up_to": up_to,
            "now": now,
        },
    ).all()
    rows = {
        (row.chain_id, hex_of(row.block_hash), row.log_index): row.holder
        for row in found
        if row.block_hash is not None
    }
    is_full = len({row.holder for row in found}) == HOLDERS_A_ROUND
    return DueConversions(rows, found[-1].holder if is_full else None)


def credit(session: WriteSession, place: Place, now: datetime) -> ConversionStatus | None:
    """Credit one conversion, or hold it; what it is now. None: it is not due any more, or another
    worker has it.

    Errors: those of the ledger and of the database; then `set_aside` it in a transaction of its
    own.
    """
    row = _locked(session, place)
    if row is None:
        return None
    account_id = _account_of(session, row)
    if account_id is None:
        claim_lock(row.account_ref, row.holder).wait(session)  # a claim may come at this moment
        account_id = _account_of(session, row)
    if account_id is None:
        row.status, row.due_at = ConversionStatus.HELD.value, None
        return ConversionStatus.HELD
    converted = _converted(session, account_id, row.account_ref)
    added = credits_added(converted.usdc_e6, row.usdc_e6)
    if added:
        credit_ledger.convert(session, account_id, added, _key(row), _payload(row), now)
    converted.usdc_e6 += row.usdc_e6
    row.status, row.account_id, row.credits = (
        ConversionStatus.CREDITED.value,
        account_id,
        added,
    )
    row.credited_at, row.due_at, row.trouble = now, None, None
    session.flush()
    return ConversionStatus.CREDITED


def set_aside(session: WriteSession, place: Place, trouble: str, now: datetime) -> None:
    """`trouble`: one sentence of ours. It is tried again after a while that doubles."""
    row = _locked(session, place)
    if row is None:
        return
    row.status, row.trouble = ConversionStatus.SET_ASIDE.value, trouble
    row.due_at = now + min(FIRST_WAIT * 2 ** min(row.tries, 16), LONGEST_WAIT)
    row.tries += 1


def reverse_blocks(
    session: WriteSession, chain_id: int, block_hashes: Sequence[str], now: datetime
) -> int:
    """Take back every conversion of these blocks; how many were credited. Accounts are taken by
    rising id, so that writers cannot deadlock.
    """
    rows = session.scalars(
        select(ReserveConversion)
        .where(
            ReserveConversion.chain_id == chain_id,
            ReserveConversion.block_hash.in_(block_hashes),
            ReserveConversion.status != ConversionStatus.REVERSED.value,
        )
        .order_by(ReserveConversion.account_id, ReserveConversion.number.desc())
        .with_for_update()
    ).all()
    credited = 0
    for row in rows:
        if row.status == ConversionStatus.CREDITED.value and row.account_id is not None:
            _take_back(session, row, row.account_id, now)
            credited += 1
        row.status, row.due_at = ConversionStatus.REVERSED.value, None
    session.flush()
    return credited


def _take_back(
    session: WriteSession, row: ReserveConversion, account_id: int, now: datetime
) -> None:
    converted = _converted(session, account_id, row.account_ref)
    taken = credits_taken(converted.usdc_e6, row.usdc_e6)
    if taken:
        key = f"reverse:{_key(row)}"
        credit_ledger.reverse_conversion(session, account_id, taken, key, _payload(row), now)
    converted.usdc_e6 -= row.usdc_e6


def release_held(session: WriteSession, account_ref: str, holder: str) -> int:
    """What the holder converted for the reference waits for its credit again; how many were held."""
    released = session.execute(
        update(ReserveConversion)
        .where(
            ReserveConversion.account_ref == account_ref,
            ReserveConversion.holder == holder,
            ReserveConversion.status == ConversionStatus.HELD.value,
            not_orphaned(ReserveConversion.chain_id, ReserveConversion.block_hash),
        )
        .values(status=ConversionStatus.WAITING.value)
        .returning(ReserveConversion.log_index)
    )
    return len(released.all())


def claim_lock(account_ref: str, holder: str) -> AdvisoryLock:
    """Held while a claim is made, and while a conversion is found to have none."""
    return named(LockClass.RESERVE_CLAIM, [account_ref, holder.lower()])


def _locked(session: WriteSession, place: Place) -> ReserveConversion | None:
    """The row, if it waits, its block counts and nobody else has it."""
    chain_id, block_hash, log_index = place
    return session.scalars(
        select(ReserveConversion)
        .where(
            ReserveConversion.chain_id == chain_id,
            ReserveConversion.block_hash == block_hash,
            ReserveConversion.log_index == log_index,
            ReserveConversion.status.in_(
                [ConversionStatus.WAITING.value, ConversionStatus.SET_ASIDE.value]
            ),
            not_orphaned(ReserveConversion.chain_id, ReserveConversion.block_hash),
        )
        .with_for_update(skip_locked=True)
        .execution_options(populate_existing=True)
    ).one_or_none()


def _account_of(session: Session, row: ReserveConversion) -> int | None:
    """Whose reference it is, or whose claim of the holder's conversions for it."""
    owner = queries.owner_of_ref(session, row.account_ref)
    return owner or queries.claimant_of(session, row.account_ref, row.holder)


def _converted(session: WriteSession, account_id: int, account_ref: str) -> ReserveConverted:
    """The account's sum for the reference, locked."""
    place = {"account_id": account_id, "account_ref": account_ref}
    session.execute(insert(ReserveConverted).values(**place, usdc_e6=0).on_conflict_do_nothing())
    return session.get_one(ReserveConverted, place, with_for_update=True, populate_existing=True)


def _key(row: ReserveConversion) -> str:
    return f"conversion:{row.tx_hash}:{row.log_index}:{row.block_hash}:{row.occurrence}"


def _payload(row: ReserveConversion) -> dict[str, Any]:
    return {
        "tx_hash": row.tx_hash,
        "log_index": row.log_index,
        "block_number": row.number,
        "block_hash": row.block_hash,
        "account_ref": row.account_ref,
        "tokens": token_text(row.tokens),
        "usdc": usdc_text(row.usdc_e6),
    }
