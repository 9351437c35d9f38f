"""Mandates beside the vaults and the reverted calls of the chain."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, and_, exists, func, select, text, true
from sqlalchemy.orm import Session, aliased

from core.blocks.queries import not_orphaned
from core.blocks.reverts import PendingRevert
from core.blocks.tables import ChainBlock, RevertedTx, Vault
from core.db.arrays import parts_of, table_of
from core.hexes import hex_of
from core.mandate.rules.lifecycle import NOTED, Status
from core.mandate.tables import CONFIRMED_REFUSALS, Mandate, MandateEvent, MandateHead
from core.money import UsdcE6

LEDGERS_A_QUERY = 5_000


def pending_reverts(session: Session, chain_id: int, limit: int) -> list[PendingRevert]:
    """Canonical reverted calls without a reason to the vaults of mandates, in turn: each vault's
    oldest, then each one's next.

    Whoever sends thousands of them to its own vault is ahead of nobody else's first.
    """
    place = func.row_number().over(
        partition_by=RevertedTx.vault, order_by=(RevertedTx.number, RevertedTx.tx_index)
    )
    query = _unexplained(
        select(RevertedTx, ChainBlock.parent_hash, ChainBlock.ts, Vault.mandate_id), chain_id
    )
    query = query.where(Vault.mandate_id.is_not(None))
    query = query.order_by(place, RevertedTx.number, RevertedTx.tx_index).limit(limit)
    return [_pending(*row) for row in session.execute(query)]


def first_unexplained(session: Session, chain_id: int, mandate_id: int) -> int | None:
    """The height of the oldest canonical reverted call of a mandate that its ledger does not report
    yet; None when it reports all.
    """
    query = _unexplained(select(func.min(RevertedTx.number)), chain_id)
    oldest: int | None = session.scalar(query.where(Vault.mandate_id == mandate_id))
    return oldest


def _unexplained(query: Any, chain_id: int) -> Any:
    """Of canonical reverted calls without a reason, with their blocks and vaults."""
    block = (ChainBlock.chain_id == RevertedTx.chain_id, ChainBlock.hash == RevertedTx.block_hash)
    vault = (Vault.chain_id == RevertedTx.chain_id, Vault.address == RevertedTx.vault)
    return (
        query.join(ChainBlock, and_(*block))
        .join(Vault, and_(*vault))
        .where(RevertedTx.chain_id == chain_id, RevertedTx.reason.is_(None), ChainBlock.canonical)
        .where(not_orphaned(Vault.chain_id, Vault.created_block_hash))
    )


def _pending(row: RevertedTx, parent_hash: bytes, ts: int, mandate_id: int | None) -> PendingRevert:
    return PendingRevert(
        tx_hash=hex_of(row.tx_hash),
        block_hash=hex_of(row.block_hash),
        parent_hash=hex_of(parent_hash),
        number=row.number,
        at=ts,
        mandate_id=mandate_id,
    )


def mandates_to_note(session: Session, chain_id: int, before: int) -> list[int]:
    """Mandates whose ledgers get the factory's events: signed, working or stopped, with a vault
    made below that height. Rising.
    """
    query = (
        select(Mandate.id)
        .join(Vault, Vault.mandate_id == Mandate.id)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
    )
    query = query.where(
        Vault.chain_id == chain_id,
        Vault.created_number < before,
        MandateHead.status.in_(NOTED),
    )
    query = query.where(not_orphaned(Vault.chain_id, Vault.created_block_hash))
    return sorted(set(session.scalars(query)))


# Heads of all ledgers, for the anchors


@dataclass(frozen=True, slots=True)
class LastRow:
    """The last row of a mandate's ledger before a time."""

    public_id: str
    seq: int
    row_hash: bytes


def grown_since(session: Session, seqs: Mapping[str, int]) -> dict[int, str]:
    """Public ids, by id, of the mandates whose ledgers have other last rows than these."""
    query = select(Mandate.id, Mandate.public_id, MandateHead.seq).join(
        MandateHead, MandateHead.mandate_id == Mandate.id
    )
    return {
        mandate_id: public_id
        for mandate_id, public_id, seq in session.execute(query)
        if seq and seq != seqs.get(public_id)
    }


def last_rows_before(
    session: Session, public_ids: Mapping[int, str], before: datetime
) -> Iterator[LastRow]:
    """The last row that each of these ledgers had written before this time; none is left out."""
    for some in parts_of(list(public_ids), LEDGERS_A_QUERY):
        wanted = table_of("wanted", {"mandate_id": (BigInteger, some)})
        row = select(MandateEvent.seq, MandateEvent.row_hash).where(
            MandateEvent.mandate_id == wanted.c.mandate_id, MandateEvent.created_at < before
        )
        last = row.order_by(MandateEvent.seq.desc()).limit(1).lateral("last")
        query = select(wanted.c.mandate_id, last.c.seq, last.c.row_hash).join(last, true())
        for mandate_id, seq, row_hash in session.execute(query):
            yield LastRow(public_ids[mandate_id], seq, row_hash)


# All mandates together


@dataclass(frozen=True, slots=True)
class AllVaults:
    """Of the mandates that have a vault on the chain; `held_usdc_e6`: their cash by the record."""

    at_work: int
    held_usdc_e6: UsdcE6
    refused_attempts: int


def vault_totals(session: Session, chain_id: int) -> AllVaults:
    """Reads the heads of all ledgers: for answers that are kept for a while."""
    of_vaults = and_(
        Vault.chain_id == chain_id, not_orphaned(Vault.chain_id, Vault.created_block_hash)
    )
    heads = (
        select(
            func.count().filter(MandateHead.status == Status.WORKING),
            func.coalesce(func.sum(MandateHead.cash_usdc_e6), 0),
        )
        .join(Vault, Vault.mandate_id == MandateHead.mandate_id)
        .where(of_vaults)
    )
    reversal = aliased(MandateEvent)
    refused = (
        select(func.count())
        .select_from(MandateEvent)
        .join(Vault, Vault.mandate_id == MandateEvent.mandate_id)
        .where(of_vaults, text(f"({CONFIRMED_REFUSALS})"), MandateEvent.reverses_id.is_(None))
        .where(~exists().where(reversal.reverses_id == MandateEvent.id))
    )
    at_work, held = session.execute(heads).one()
    return AllVaults(at_work, UsdcE6(int(held)), session.scalar(refused) or 0)
