"""The record held against the contract and against itself.

    reserve, locked, unlocks,  the record at its cursor's block = the contract at that block
      supply, owed
    balance                    USDC that the contract holds >= reserve + owed: donations are allowed
    conversions                events = conversions, in number and in USDC; those of replaced blocks = reversed ones
    terms                      each conversion = its event: holder, reference, tokens, USDC
    credited                   USDC of credited conversions = the accounts' sums, in all and of each account and reference
    credits                    the credit ledger's `reserve` = the whole 10,000s of these sums

    totals                     the running totals = the sums of all rows

Once a minute by running totals, and by what was touched since: no look costs more for an older
record. Once a day by all rows.

Source: docs/reserve.md#reconciliation.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVarTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
    exists,
    func,
    outerjoin,
    select,
    tuple_,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.audit.rules import Fault, FindingKind
from core.blocks.queries import not_orphaned
from core.credits.queries import converted_credits_by_account, converted_postings
from core.db.engine import WriteSession
from core.reserve.chain import ContractNumbers
from core.reserve.queries import ReserveState
from core.reserve.rules import USDC_E6_A_CREDIT, ConversionStatus, ReserveEventKind
from core.reserve.tables import (
    ReserveConversion,
    ReserveConverted,
    ReserveEvent,
    ReserveTotal,
    ReserveTouched,
)

Ts = TypeVarTuple("Ts")


class RunningPart(StrEnum):
    """Of the running totals; the triggers of reserve_total have these names."""

    EVENTS = "events"
    REPLACED = "replaced"
    CONVERSIONS = "conversions"
    REVERSED = "reversed"
    CREDITED = "credited"
    SUMS = "sums"
    WORTH = "worth"
    CREDITS = "credits"


OF_NO_CHAIN = (RunningPart.SUMS, RunningPart.WORTH, RunningPart.CREDITS)
Total = tuple[int, int]  # rows, and their sum


@dataclass(frozen=True, slots=True)
class ConversionSums:
    """Over all events of conversions and what became of them, in one snapshot."""

    totals: Mapping[RunningPart, Total]
    altered: int  # conversions that are not what their event says, or have none
    odd_sums: tuple[int, ...]  # accounts whose sums are not their own credited conversions
    odd_ledgers: tuple[int, ...]  # accounts whose ledger has other credits than their sums
    odd_totals: int = 0  # running totals that are not what all rows come to


def conversion_sums(
    session: Session,
    chain_id: int,
    totals: Mapping[RunningPart, Total],
    *,
    above: int = -1,
    accounts: Collection[int] | None = None,
) -> ConversionSums:
    """By these totals; conversions above a height and these accounts are compared one by one (None:
    all).
    """
    return ConversionSums(
        totals,
        _altered(session, chain_id, above),
        _odd_sums(session, accounts),
        _odd_ledgers(session, accounts),
    )


@dataclass(frozen=True, slots=True)
class Touched:
    """Accounts to compare one by one, with how often each was touched. `last`: of them by id; None: the
    round begins again.
    """

    touches: Mapping[int, int]
    last: int | None


def touched(session: Session, after: int | None, limit: int) -> Touched:
    """The next ones after an account, or from the first on where none is left: those that are never
    right keep their turn, and nobody else's.
    """
    row = ReserveTouched
    query = select(row.account_id, row.touches).order_by(row.account_id).limit(limit)
    found = session.execute(query.where(row.account_id > (after or 0))).all()
    found = found or session.execute(query).all()
    last = found[-1].account_id if len(found) == limit else None
    return Touched({one.account_id: one.touches for one in found}, last)


def forget(session: WriteSession, compared: Touched, odd: Collection[int]) -> None:
    """These were compared; those that are `odd`, or were touched meanwhile, are kept."""
    gone = [pair for pair in compared.touches.items() if pair[0] not in odd]
    if gone:
        key = tuple_(ReserveTouched.account_id, ReserveTouched.touches)
        session.execute(delete(ReserveTouched).where(key.in_(gone)))


def running_totals(session: Session, chain_id: int) -> dict[RunningPart, Total]:
    row = ReserveTotal
    query = select(row.part, func.sum(row.rows), func.sum(row.amount))
    query = query.where(row.chain_id.in_((0, chain_id))).group_by(row.part)
    found = {part: (int(rows), int(amount)) for part, rows, amount in session.execute(query)}
    return {part: found.get(part.value, (0, 0)) for part in RunningPart}


def fold_totals(session: WriteSession, limit: int) -> int:
    """Put moves of the running totals together, at most `limit`; how many. Whoever moves a total
    meanwhile waits for nothing.
    """
    row = ReserveTotal
    if session.execute(select(row.id).offset(len(RunningPart) * 2).limit(1)).first() is None:
        return 0
    first = select(row.id).order_by(row.id).limit(limit)
    gone = delete(row).where(row.id.in_(first))
    moves = session.execute(gone.returning(row.chain_id, row.part, row.rows, row.amount)).all()
    sums: defaultdict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for chain_id, part, rows, amount in moves:
        sums[chain_id, part][0] += rows
        sums[chain_id, part][1] += amount
    for (chain_id, part), (rows, amount) in sums.items():
        _move(session, chain_id, part, rows, amount)
    return len(moves)


def totals_of_rows(session: Session, chain_id: int) -> dict[RunningPart, Total]:
    """What the running totals have to be: every row is read."""
    event, row, kept = ReserveEvent, ReserveConversion, ReserveConverted
    is_kept = not_orphaned(event.chain_id, event.block_hash)
    is_conversion = (event.chain_id == chain_id, event.kind == ReserveEventKind.CONVERTED.value)
    mine, is_reversed = row.chain_id == chain_id, row.status == ConversionStatus.REVERSED.value
    credited = row.status == ConversionStatus.CREDITED.value
    sums = _count_and_sum(session, kept.usdc_e6)
    worth = func.coalesce(func.sum(func.div(kept.usdc_e6, USDC_E6_A_CREDIT)), 0)
    return {
        RunningPart.EVENTS: _count_and_sum(session, event.usdc_e6, *is_conversion, is_kept),
        RunningPart.REPLACED: _count_and_sum(session, event.usdc_e6, *is_conversion, ~is_kept),
        RunningPart.CONVERSIONS: _count_and_sum(session, row.usdc_e6, mine, ~is_reversed),
        RunningPart.REVERSED: _count_and_sum(session, row.usdc_e6, mine, is_reversed),
        RunningPart.CREDITED: _count_and_sum(session, row.usdc_e6, mine, credited),
        RunningPart.SUMS: sums,
        RunningPart.WORTH: (sums[0], int(session.scalar(select(worth)) or 0)),
        RunningPart.CREDITS: converted_postings(session),
    }


def correct_totals(
    session: WriteSession,
    chain_id: int,
    running: Mapping[RunningPart, Total],
    right: Mapping[RunningPart, Total],
) -> None:
    """Move each running total by what it was wrong, whatever was counted since."""
    for part in RunningPart:
        rows, amount = (of - was for of, was in zip(right[part], running[part], strict=True))
        if (rows, amount) == (0, 0):
            continue
        _move(session, 0 if part in OF_NO_CHAIN else chain_id, part.value, rows, amount)


def _move(session: WriteSession, chain_id: int, part: str, rows: int, amount: int) -> None:
    values = {"chain_id": chain_id, "part": part, "rows": rows, "amount": amount}
    session.execute(insert(ReserveTotal).values(**values))


def _altered(session: Session, chain_id: int, above: int) -> int:
    """Of those above a height."""
    event, row = ReserveEvent, ReserveConversion
    same = and_(
        event.chain_id == row.chain_id,
        event.block_hash == row.block_hash,
        event.log_index == row.log_index,
        event.kind == ReserveEventKind.CONVERTED.value,
        event.party == row.holder,
        event.account_ref == row.account_ref,
        event.tokens == row.tokens,
        event.usdc_e6 == row.usdc_e6,
    )
    mine = (row.chain_id == chain_id, row.number > above)
    query = select(func.count()).where(*mine, ~exists().where(same))
    return session.scalar(query) or 0


def _odd_sums(session: Session, accounts: Collection[int] | None) -> tuple[int, ...]:
    """Of each account and reference; an account once for each."""
    row, kept = ReserveConversion, ReserveConverted
    credited = _among(
        select(row.account_id, row.account_ref, func.sum(row.usdc_e6).label("usdc_e6"))
        .where(row.status == ConversionStatus.CREDITED.value)
        .group_by(row.account_id, row.account_ref),
        row.account_id,
        accounts,
    ).subquery()
    sums = _among(
        select(kept.account_id, kept.account_ref, kept.usdc_e6), kept.account_id, accounts
    ).subquery()
    own = and_(
        credited.c.account_id == sums.c.account_id, credited.c.account_ref == sums.c.account_ref
    )
    pairs = outerjoin(credited, sums, own, full=True)
    differ = func.coalesce(credited.c.usdc_e6, 0) != func.coalesce(sums.c.usdc_e6, 0)
    account = func.coalesce(credited.c.account_id, sums.c.account_id)
    return tuple(session.scalars(select(account).select_from(pairs).where(differ)))


def _odd_ledgers(session: Session, accounts: Collection[int] | None) -> tuple[int, ...]:
    kept = ReserveConverted
    worth = _among(
        select(
            kept.account_id,
            func.sum(func.div(kept.usdc_e6, USDC_E6_A_CREDIT)).label("credits"),
        ).group_by(kept.account_id),
        kept.account_id,
        accounts,
    ).subquery()
    posted = converted_credits_by_account(accounts).subquery()
    pairs = outerjoin(worth, posted, worth.c.account_id == posted.c.account_id, full=True)
    differ = func.coalesce(worth.c.credits, 0) != func.coalesce(posted.c.credits, 0)
    account = func.coalesce(worth.c.account_id, posted.c.account_id)
    return tuple(session.scalars(select(account).select_from(pairs).where(differ)))


def _among(
    query: Select[*Ts], column: InstrumentedAttribute[Any], accounts: Collection[int] | None
) -> Select[*Ts]:
    return query if accounts is None else query.where(column.in_(accounts))


def _count_and_sum(
    session: Session, column: InstrumentedAttribute[int], *where: ColumnElement[bool]
) -> tuple[int, int]:
    query = select(func.count(), func.coalesce(func.sum(column), 0)).where(*where)
    count, total = session.execute(query).one()
    return int(count), int(total)


def faults(
    chain_id: int, record: ReserveState, contract: ContractNumbers, sums: ConversionSums
) -> list[Fault]:
    """Everything that does not match; empty: all of it does."""
    ours, part = record.totals, sums.totals
    pairs = (
        ("reserve", ours.reserve_e6, contract.reserve_e6),
        ("locked", record.locked_e6, contract.locked_e6),
        ("unlocks", ours.lock.until_ns, contract.locked_until_ns),
        ("supply", ours.supply, contract.supply),
        ("owed", ours.owed_e6, contract.owed_e6),
        ("conversions", part[RunningPart.CONVERSIONS][0], part[RunningPart.EVENTS][0]),
        ("conversions_usdc", part[RunningPart.CONVERSIONS][1], part[RunningPart.EVENTS][1]),
        ("reversed", part[RunningPart.REVERSED][0], part[RunningPart.REPLACED][0]),
        ("credited_usdc", part[RunningPart.SUMS][1], part[RunningPart.CREDITED][1]),
        ("credits", part[RunningPart.CREDITS][1], part[RunningPart.WORTH][1]),
        ("terms", sums.altered, 0),
        ("sums", len(sums.odd_sums), 0),
        ("ledgers", len(sums.odd_ledgers), 0),
        ("totals", sums.odd_totals, 0),
    )
    found = [
        _fault(chain_id, record, name, said, theirs, _SAYS[name])
        for name, said, theirs in pairs
        if said != theirs
    ]
    covered = contract.reserve_e6 + contract.owed_e6
    if contract.usdc_e6 < covered:
        said = "the contract holds less USDC than its reserve and what it owes the treasury"
        found.append(_fault(chain_id, record, "balance", contract.usdc_e6, covered, said))
    return found


# what the contract itself says otherwise
OF_CONTRACT = frozenset({"reserve", "locked", "unlocks", "supply", "owed"})
_SAYS = {
    "reserve": "the record's reserve is not the contract's",
    "locked": "what the record says is locked of the reserve is not what the contract says",
    "unlocks": "what is locked ends at another time in the record than in the contract",
    "supply": "the record's supply is not the contract's",
    "owed": "what the record says that the treasury is owed is not what the contract says",
    "conversions": "there are not as many conversions as events of them",
    "conversions_usdc": "the USDC of conversions is not that of their events",
    "reversed": "there are not as many reversed conversions as events of replaced blocks",
    "credited_usdc": "the accounts' sums are not the USDC of credited conversions",
    "credits": "the credit ledger's converted credits are not what the accounts' sums are worth",
    "terms": "conversions are not what their events say",
    "sums": "sums of accounts are not those of their own credited conversions",
    "totals": "running totals were not what all rows come to, and were corrected",
    "ledgers": "accounts' ledgers have other converted credits than their sums are worth",
}


def _fault(
    chain_id: int, record: ReserveState, part: str, ours: int, theirs: int, says: str
) -> Fault:
    """One difference of a part is one finding, however the numbers move on."""
    return Fault(
        FindingKind.RESERVE,
        f"{FindingKind.RESERVE.value}:{chain_id}:{part}:{ours - theirs}",
        f"reserve token, block {record.block}: {says} ({ours}, not {theirs})",
        {"block_number": record.block, "block_hash": record.block_hash, "part": part},
    )
