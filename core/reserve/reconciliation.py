"""The record held against the contract, and all its rows against each other.

    reserve, locked, unlocks,  the record at its cursor's block = the contract at that block
      supply, owed
    balance                    USDC that the contract holds >= reserve + owed: donations are allowed
    conversions                events = conversions, in number and in USDC; those of replaced blocks = reversed ones
    terms                      each conversion = its event: holder, reference, tokens, USDC
    credited, sums             USDC of credited conversions = the accounts' sums, in all and of each account and reference
    credits, ledgers           the credit ledger's `reserve` = the whole 10,000s of these sums, in all and of each account

Source: docs/reserve.md#reconciliation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, exists, func, outerjoin, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.audit.rules import Fault, FindingKind
from core.blocks.queries import not_orphaned
from core.credits.queries import converted_credits_by_account
from core.reserve.chain import ContractNumbers
from core.reserve.queries import ReserveState
from core.reserve.rules import USDC_E6_A_CREDIT, ConversionStatus, ReserveEventKind
from core.reserve.tables import ReserveConversion, ReserveConverted, ReserveEvent

Total = tuple[int, int]  # rows, and their sum


@dataclass(frozen=True, slots=True)
class Compared:
    """Two sums of the same, and in how many of their parts they differ."""

    ours: int
    theirs: int
    odd: int


@dataclass(frozen=True, slots=True)
class ConversionSums:
    """Over all events of conversions and what became of them, in one snapshot."""

    events: Total
    replaced: Total
    conversions: Total
    reversed: Total
    altered: int  # conversions that are not what their event says, or have none
    credited: Compared  # by account and reference: their sums, and credited conversions
    credits: Compared  # by account: the credit ledger, and what the sums are worth


def conversion_sums(session: Session, chain_id: int) -> ConversionSums:
    event, row, kept = ReserveEvent, ReserveConversion, ReserveConverted
    is_standing = not_orphaned(event.chain_id, event.block_hash)
    is_conversion = (event.chain_id == chain_id, event.kind == ReserveEventKind.CONVERTED.value)
    mine, is_reversed = row.chain_id == chain_id, row.status == ConversionStatus.REVERSED.value
    place = (kept.account_id, kept.account_ref)
    credited = (
        select(row.account_id, row.account_ref, func.sum(row.usdc_e6).label("amount"))
        .where(row.status == ConversionStatus.CREDITED.value)
        .group_by(row.account_id, row.account_ref)
    )
    worth = func.sum(func.div(kept.usdc_e6, USDC_E6_A_CREDIT)).label("amount")
    return ConversionSums(
        events=_count_and_sum(session, event.usdc_e6, *is_conversion, is_standing),
        replaced=_count_and_sum(session, event.usdc_e6, *is_conversion, ~is_standing),
        conversions=_count_and_sum(session, row.usdc_e6, mine, ~is_reversed),
        reversed=_count_and_sum(session, row.usdc_e6, mine, is_reversed),
        altered=_altered(session, chain_id),
        credited=_compared(session, select(*place, kept.usdc_e6.label("amount")), credited),
        credits=_compared(
            session,
            converted_credits_by_account(),
            select(kept.account_id, worth).group_by(kept.account_id),
        ),
    )


def _altered(session: Session, chain_id: int) -> int:
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
    query = select(func.count()).where(row.chain_id == chain_id, ~exists().where(same))
    return session.scalar(query) or 0


def _compared(
    session: Session, ours: Select[*tuple[Any, ...]], theirs: Select[*tuple[Any, ...]]
) -> Compared:
    """Of two queries of the same columns, the last of which is `amount`; nothing is 0."""
    one, other = ours.subquery(), theirs.subquery()
    same = and_(*(one.c[key] == other.c[key] for key in one.c.keys()[:-1]))
    amounts = [func.coalesce(each.c.amount, 0) for each in (one, other)]
    query = select(
        *(func.coalesce(func.sum(amount), 0) for amount in amounts),
        func.count().filter(amounts[0] != amounts[1]),
    )
    found = session.execute(query.select_from(outerjoin(one, other, same, full=True))).one()
    return Compared(*map(int, found))


def _count_and_sum(
    session: Session, column: InstrumentedAttribute[int], *where: ColumnElement[bool]
) -> Total:
    query = select(func.count(), func.coalesce(func.sum(column), 0)).where(*where)
    count, total = session.execute(query).one()
    return int(count), int(total)


def faults(
    chain_id: int, record: ReserveState, contract: ContractNumbers, sums: ConversionSums | None
) -> list[Fault]:
    """Everything that does not match; empty: all of it does. `sums` None: the rows are not looked at."""
    ours = record.totals
    pairs = (
        ("reserve", ours.reserve_e6, contract.reserve_e6),
        ("locked", record.locked_e6, contract.locked_e6),
        ("unlocks", ours.lock.until_ns, contract.locked_until_ns),
        ("supply", ours.supply, contract.supply),
        ("owed", ours.owed_e6, contract.owed_e6),
        *(() if sums is None else _pairs(sums)),
    )
    found = [
        _fault(chain_id, record, name, recorded, theirs, _SAYS[name])
        for name, recorded, theirs in pairs
        if recorded != theirs
    ]
    covered = contract.reserve_e6 + contract.owed_e6
    if contract.usdc_e6 < covered:
        text = "the contract holds less USDC than its reserve plus what it owes the treasury"
        found.append(_fault(chain_id, record, "balance", contract.usdc_e6, covered, text))
    return found


def _pairs(sums: ConversionSums) -> Iterator[tuple[str, int, int]]:
    """By part, what the record holds and what it ought to hold."""
    yield "conversions", sums.conversions[0], sums.events[0]
    yield "conversions_usdc", sums.conversions[1], sums.events[1]
    yield "reversed", sums.reversed[0], sums.replaced[0]
    yield "credited_usdc", sums.credited.ours, sums.credited.theirs
    yield "credits", sums.credits.ours, sums.credits.theirs
    yield "terms", sums.altered, 0
    yield "sums", sums.credited.odd, 0
    yield "ledgers", sums.credits.odd, 0


# what the contract itself says otherwise
OF_CONTRACT = frozenset({"reserve", "locked", "unlocks", "supply", "owed"})
_SAYS = {
    "reserve": "the record's reserve differs from the contract's",
    "locked": "the locked part of the reserve differs between the record and the contract",
    "unlocks": "the unlock time differs between the record and the contract",
    "supply": "the record's supply differs from the contract's",
    "owed": "the amount owed to the treasury differs between the record and the contract",
    "conversions": "the number of conversions differs from the number of their events",
    "conversions_usdc": "the USDC of conversions differs from that of their events",
    "reversed": "the number of reversed conversions differs from the number of events in replaced "
    "blocks",
    "credited_usdc": "the accounts' sums differ from the USDC of credited conversions",
    "credits": "the credit ledger's converted credits differ from what the accounts' sums are worth",
    "terms": "conversions differ from their events",
    "sums": "sums of accounts differ from those of their own credited conversions",
    "ledgers": "the converted credits in accounts' ledgers differ from what their sums are worth",
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
