"""The record held against the contract and against itself.

    reserve, supply, owed      the record at its cursor's block = the contract at that block
    balance                    USDC that the contract holds >= reserve + owed: donations are allowed
    conversions                events = conversions, in number and in USDC; those of replaced blocks = reversed ones
    terms                      each conversion = its event: holder, reference, tokens, USDC
    credited                   USDC of credited conversions = the accounts' sums, in all and of each account and reference
    credits                    the credit ledger's `reserve` = the whole 10,000s of these sums

Source: docs/reserve.md#reconciliation.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, func, outerjoin, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.audit.rules import Fault, FindingKind
from core.blocks.queries import not_orphaned
from core.credits.queries import converted_credits, converted_credits_by_account
from core.reserve.chain import ContractNumbers
from core.reserve.queries import ReserveState
from core.reserve.rules import USDC_E6_A_CREDIT, ConversionStatus, ReserveEventKind
from core.reserve.tables import ReserveConversion, ReserveConverted, ReserveEvent


@dataclass(frozen=True, slots=True)
class ConversionSums:
    """Over all events of conversions and what became of them, in one snapshot."""

    events: int
    events_e6: int
    conversions: int
    conversions_e6: int
    replaced_events: int
    reversed_conversions: int
    credited_e6: int
    sums_e6: int
    sums_credits: int
    ledger_credits: int
    altered: int  # conversions that are not what their event says, or have none
    odd_sums: int  # accounts' sums that are not their own credited conversions
    odd_ledgers: int  # accounts whose ledger has other credits than their sums


def conversion_sums(session: Session, chain_id: int) -> ConversionSums:
    event, row = ReserveEvent, ReserveConversion
    is_kept = not_orphaned(event.chain_id, event.block_hash)
    is_conversion = (
        event.chain_id == chain_id,
        event.kind == ReserveEventKind.CONVERTED.value,
    )
    mine, is_reversed = row.chain_id == chain_id, row.status == ConversionStatus.REVERSED.value
    events, events_e6 = _count_and_sum(session, event.usdc_e6, *is_conversion, is_kept)
    found, found_e6 = _count_and_sum(session, row.usdc_e6, mine, ~is_reversed)
    credited = row.status == ConversionStatus.CREDITED.value
    sums = select(
        func.coalesce(func.sum(ReserveConverted.usdc_e6), 0),
        func.coalesce(func.sum(func.div(ReserveConverted.usdc_e6, USDC_E6_A_CREDIT)), 0),
    )
    sums_e6, sums_credits = session.execute(sums).one()
    return ConversionSums(
        events=events,
        events_e6=events_e6,
        conversions=found,
        conversions_e6=found_e6,
        replaced_events=_count_and_sum(session, event.usdc_e6, *is_conversion, ~is_kept)[0],
        reversed_conversions=_count_and_sum(session, row.usdc_e6, mine, is_reversed)[0],
        credited_e6=_count_and_sum(session, row.usdc_e6, mine, credited)[1],
        sums_e6=int(sums_e6),
        sums_credits=int(sums_credits),
        ledger_credits=converted_credits(session),
        altered=_altered(session, chain_id),
        odd_sums=_odd_sums(session),
        odd_ledgers=_odd_ledgers(session),
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


def _odd_sums(session: Session) -> int:
    """Of each account and reference."""
    row, kept = ReserveConversion, ReserveConverted
    credited = (
        select(row.account_id, row.account_ref, func.sum(row.usdc_e6).label("usdc_e6"))
        .where(row.status == ConversionStatus.CREDITED.value)
        .group_by(row.account_id, row.account_ref)
        .subquery()
    )
    own = and_(credited.c.account_id == kept.account_id, credited.c.account_ref == kept.account_ref)
    pairs = outerjoin(credited, kept, own, full=True)
    differ = func.coalesce(credited.c.usdc_e6, 0) != func.coalesce(kept.usdc_e6, 0)
    return session.scalar(select(func.count()).select_from(pairs).where(differ)) or 0


def _odd_ledgers(session: Session) -> int:
    worth = (
        select(
            ReserveConverted.account_id,
            func.sum(func.div(ReserveConverted.usdc_e6, USDC_E6_A_CREDIT)).label("credits"),
        )
        .group_by(ReserveConverted.account_id)
        .subquery()
    )
    posted = converted_credits_by_account().subquery()
    pairs = outerjoin(worth, posted, worth.c.account_id == posted.c.account_id, full=True)
    differ = func.coalesce(worth.c.credits, 0) != func.coalesce(posted.c.credits, 0)
    return session.scalar(select(func.count()).select_from(pairs).where(differ)) or 0


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
    pairs = (
        ("reserve", record.reserve_usdc_e6, contract.reserve_e6),
        ("supply", record.supply, contract.supply),
        ("owed", record.treasury_owed_e6, contract.owed_e6),
        ("conversions", sums.conversions, sums.events),
        ("conversions_usdc", sums.conversions_e6, sums.events_e6),
        ("reversed", sums.reversed_conversions, sums.replaced_events),
        ("credited_usdc", sums.sums_e6, sums.credited_e6),
        ("credits", sums.ledger_credits, sums.sums_credits),
        ("terms", sums.altered, 0),
        ("sums", sums.odd_sums, 0),
        ("ledgers", sums.odd_ledgers, 0),
    )
    found = [
        _fault(chain_id, record, part, ours, theirs, _SAYS[part])
        for part, ours, theirs in pairs
        if ours != theirs
    ]
    covered = contract.reserve_e6 + contract.owed_e6
    if contract.usdc_e6 < covered:
        said = "the contract holds less USDC than its reserve and what it owes the treasury"
        found.append(_fault(chain_id, record, "balance", contract.usdc_e6, covered, said))
    return found


_SAYS = {
    "reserve": "the record's reserve is not the contract's",
    "supply": "the record's supply is not the contract's",
    "owed": "what the record says that the treasury is owed is not what the contract says",
    "conversions": "there are not as many conversions as events of them",
    "conversions_usdc": "the USDC of conversions is not that of their events",
    "reversed": "there are not as many reversed conversions as events of replaced blocks",
    "credited_usdc": "the accounts' sums are not the USDC of credited conversions",
    "credits": "the credit ledger's converted credits are not what the accounts' sums are worth",
    "terms": "conversions are not what their events say",
    "sums": "sums of accounts are not those of their own credited conversions",
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
