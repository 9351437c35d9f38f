"""The record held against the contract and against itself.

    reserve, supply, owed      the record at its cursor's block = the contract at that block
    balance                    USDC that the contract holds >= reserve + owed: donations are allowed
    conversions                events = conversions, in number and in USDC; those of replaced blocks = reversed ones
    credited                   USDC of credited conversions = the accounts' sums
    credits                    the credit ledger's `reserve` = the whole 10,000s of these sums

Source: docs/reserve.md#reconciliation.
"""

from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.audit.rules import Fault, FindingKind
from core.blocks.queries import not_orphaned
from core.credits.queries import converted_credits
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
    )


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
