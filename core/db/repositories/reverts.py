"""All SQL of reverted calls: a plain transaction from a vault's agent to the vault that the chain refused.

The row stands as soon as its block does; the reason is looked up later and written once. Units and forms as in chain.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_utils.address import to_checksum_address
from sqlalchemy import and_, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.db.repositories.chain import bytes_of, hex_of, not_orphaned
from core.db.repositories.unregistered import registries
from core.db.tables.chain import ChainBlock, RevertedTx, Vault
from core.db.tables.mandate import MandateEvent
from core.domain.blocks import BlockHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRevert:
    """A reverted transaction from a vault's agent, present or past, to the vault."""

    tx_hash: str
    tx_index: int
    sender: str
    vault: str
    gas_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRevert:
    """A reverted call whose reason is not looked up yet. `at`: its block's time in unix seconds."""

    tx_hash: str
    tx_index: int
    block_hash: str
    parent_hash: str
    number: int
    at: int
    sender: str
    vault: str
    mandate_id: int | None


def add_reverts(session: WriteSession, chain_id: int, block: BlockHeader, reverts: Sequence[NewRevert]) -> None:
    """Write them down at once. One whose block comes back is looked up and noted again, so its reason is cleared."""
    if not reverts:
        return
    rows = [
        {
            "chain_id": chain_id,
            "block_hash": bytes_of(block.hash),
            "tx_hash": bytes_of(revert.tx_hash),
            "number": block.number,
            "tx_index": revert.tx_index,
            "sender": bytes_of(revert.sender),
            "vault": bytes_of(revert.vault),
            "gas_used": revert.gas_used,
        }
        for revert in reverts
    ]
    keys = ["chain_id", "block_hash", "tx_hash"]
    session.execute(insert(RevertedTx).values(rows).on_conflict_do_update(index_elements=keys, set_={"reason": None}))


def reverts_of_block(session: Session, chain_id: int, block_hash: str) -> list[NewRevert]:
    """The reverted calls that are kept of one block, in its order, whether their reasons were looked up or not."""
    query = select(RevertedTx).where(RevertedTx.chain_id == chain_id, RevertedTx.block_hash == bytes_of(block_hash))
    return [
        NewRevert(
            tx_hash=hex_of(row.tx_hash),
            tx_index=row.tx_index,
            sender=to_checksum_address(row.sender),
            vault=to_checksum_address(row.vault),
            gas_used=row.gas_used,
        )
        for row in session.scalars(query.order_by(RevertedTx.tx_index))
    ]


def pending_reverts(session: Session, chain_id: int, limit: int) -> list[PendingRevert]:
    """Canonical reverted calls without a reason to the vaults of mandates, in turn: each vault's oldest, then each one's next.

    Whoever sends thousands of them to its own vault is ahead of nobody else's first. Vaults that the registry refuses come first.
    """
    return [one for registry in registries(session, chain_id)[::-1] for one in _pending_in(session, registry, chain_id, limit)][:limit]


def _pending_in(session: Session, registry: type[Vault], chain_id: int, limit: int) -> list[PendingRevert]:
    place = func.row_number().over(partition_by=RevertedTx.vault, order_by=(RevertedTx.number, RevertedTx.tx_index))
    query = (
        select(RevertedTx, ChainBlock.parent_hash, ChainBlock.ts, registry.mandate_id)
        .join(ChainBlock, and_(ChainBlock.chain_id == RevertedTx.chain_id, ChainBlock.hash == RevertedTx.block_hash))
        .join(registry, and_(registry.chain_id == RevertedTx.chain_id, registry.address == RevertedTx.vault))
        .where(RevertedTx.chain_id == chain_id, RevertedTx.reason.is_(None), ChainBlock.canonical, registry.mandate_id.is_not(None))
        .where(not_orphaned(registry.chain_id, registry.created_block_hash))
        .order_by(place, RevertedTx.number, RevertedTx.tx_index)
        .limit(limit)
    )
    return [_pending(*row) for row in session.execute(query)]


def first_unexplained(session: Session, chain_id: int, mandate_id: int) -> int | None:
    """The height of the oldest canonical reverted call of a mandate that its book does not tell of yet; None when it tells of all."""
    heights = [_first_in(session, registry, chain_id, mandate_id) for registry in registries(session, chain_id)]
    return min((height for height in heights if height is not None), default=None)


def _first_in(session: Session, registry: type[Vault], chain_id: int, mandate_id: int) -> int | None:
    query = (
        select(func.min(RevertedTx.number))
        .join(ChainBlock, and_(ChainBlock.chain_id == RevertedTx.chain_id, ChainBlock.hash == RevertedTx.block_hash))
        .join(registry, and_(registry.chain_id == RevertedTx.chain_id, registry.address == RevertedTx.vault))
        .where(RevertedTx.chain_id == chain_id, RevertedTx.reason.is_(None), ChainBlock.canonical, registry.mandate_id == mandate_id)
        .where(not_orphaned(registry.chain_id, registry.created_block_hash))
    )
    return session.scalar(query)


def _pending(row: RevertedTx, parent_hash: bytes, ts: int, mandate_id: int | None) -> PendingRevert:
    return PendingRevert(
        tx_hash=hex_of(row.tx_hash),
        tx_index=row.tx_index,
        block_hash=hex_of(row.block_hash),
        parent_hash=hex_of(parent_hash),
        number=row.number,
        at=ts,
        sender=to_checksum_address(row.sender),
        vault=to_checksum_address(row.vault),
        mandate_id=mandate_id,
    )


def set_revert_reason(
    session: WriteSession, chain_id: int, revert: PendingRevert, reason: str, revert_data: bytes | None, input_: bytes | None
) -> bool:
    """Write what was found; False when the block was orphaned meanwhile or the reason is there already."""
    canonical = exists().where(ChainBlock.chain_id == chain_id, ChainBlock.hash == RevertedTx.block_hash, ChainBlock.canonical.is_(True))
    statement = (
        update(RevertedTx)
        .where(RevertedTx.chain_id == chain_id, RevertedTx.tx_hash == bytes_of(revert.tx_hash))
        .where(RevertedTx.block_hash == bytes_of(revert.block_hash), RevertedTx.reason.is_(None), canonical)
        .values(reason=reason, revert_data=revert_data, input=input_)
        .returning(RevertedTx.tx_hash)
    )
    return session.execute(statement).one_or_none() is not None


def reported_refusal_seq(session: Session, mandate_id: int, tx_hash: str) -> int | None:
    """The seq of the agent's own, un-reversed refusal report of that transaction."""
    reversal = aliased(MandateEvent)
    query = (
        select(MandateEvent.seq)
        .where(MandateEvent.mandate_id == mandate_id, MandateEvent.base_key == f"refusal:{tx_hash.lower()}")
        .where(MandateEvent.reverses_id.is_(None), ~exists().where(reversal.reverses_id == MandateEvent.id))
        .order_by(MandateEvent.seq.desc())
        .limit(1)
    )
    return session.scalar(query)
