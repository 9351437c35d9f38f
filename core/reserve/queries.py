"""All SQL of the reserve token but the crediting of conversions (conversions.py)."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED, TIP, not_orphaned
from core.hexes import address_or_none
from core.reserve.rules import ReserveTotals
from core.reserve.tables import ReserveEvent


@dataclass(frozen=True, slots=True)
class ReserveState:
    """The contract's numbers at the block that the indexer stands at. `at`: unix seconds of it.

    `treasury_owed_e6`: USDC base units that conversions owe the treasury. `treasury` None: not
    known.
    """

    reserve_usdc_e6: int
    supply: int
    treasury_owed_e6: int
    block: int
    block_hash: str
    at: int
    is_paused: bool
    treasury: str | None


def state(session: Session) -> ReserveState | None:
    """None: the token is not followed, or not yet from its creation up to the cursor."""
    tip = blocks.cursor(session, TIP)
    if tip is None or blocks.cursor(session, RESERVE_FOLLOWED) is None:
        return None
    chain_id = blocks.cursor_chain(session, TIP)
    at = None if chain_id is None else blocks.block_time(session, chain_id, tip.hash)
    if chain_id is None or at is None:
        return None
    totals = totals_at(session, chain_id, tip.number)
    return ReserveState(
        reserve_usdc_e6=totals.reserve_e6,
        supply=totals.supply,
        treasury_owed_e6=totals.owed_e6,
        block=tip.number,
        block_hash=tip.hash,
        at=at,
        is_paused=totals.is_paused,
        treasury=totals.treasury,
    )


def totals_at(session: Session, chain_id: int, number: int) -> ReserveTotals:
    """The contract's numbers after all events up to that height that no reorg took back."""
    query = (
        select(
            ReserveEvent.reserve_after_e6,
            ReserveEvent.supply_after,
            ReserveEvent.owed_after_e6,
            ReserveEvent.is_paused_after,
            ReserveEvent.treasury_after,
        )
        .where(
            ReserveEvent.chain_id == chain_id,
            ReserveEvent.number <= number,
            not_orphaned(ReserveEvent.chain_id, ReserveEvent.block_hash),
        )
        .order_by(ReserveEvent.number.desc(), ReserveEvent.log_index.desc())
        .limit(1)
    )
    row = session.execute(query).one_or_none()
    if row is None:
        return ReserveTotals()
    *numbers, treasury = row
    return ReserveTotals(*numbers, address_or_none(treasury))
