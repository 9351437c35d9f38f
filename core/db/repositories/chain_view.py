"""What the canonical chain says in our tables, for comparing two scans of one chain (law 7)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from core.db.repositories.chain import not_orphaned
from core.db.tables.chain import Adapter, ChainBlock, RawLog, RevertedTx, Vault, VaultAgent


def canonical_view(session: Session, chain_id: int) -> dict[str, list[tuple[Any, ...]]]:
    """Every rebuildable fact of the canonical chain, in order: two scans of one chain give equal views."""
    view: dict[str, Sequence[Any]] = {
        "blocks": (ChainBlock.number, ChainBlock.hash, ChainBlock.parent_hash, ChainBlock.ts),
        "logs": (RawLog.number, RawLog.log_index, RawLog.tx_hash, RawLog.tx_index, RawLog.address, RawLog.topics, RawLog.data),
        "vaults": (Vault.created_number, Vault.address, Vault.terms_digest, Vault.public_id, Vault.owner, Vault.mandate_id),
        "agents": (VaultAgent.since_number, VaultAgent.vault, VaultAgent.agent),
        "adapters": (Adapter.listed_number, Adapter.address, Adapter.rules),
        "reverts": (RevertedTx.number, RevertedTx.tx_index, RevertedTx.tx_hash, RevertedTx.sender, RevertedTx.vault, RevertedTx.reason),
    }
    return {part: _canonical_rows(session, chain_id, columns) for part, columns in view.items()}


_BLOCK_OF: Mapping[Any, Any] = {
    ChainBlock: ChainBlock.hash,
    RawLog: RawLog.block_hash,
    Vault: Vault.created_block_hash,
    VaultAgent: VaultAgent.since_block_hash,
    Adapter: Adapter.listed_block_hash,
    RevertedTx: RevertedTx.block_hash,
}


def _canonical_rows(session: Session, chain_id: int, columns: Sequence[Any]) -> list[tuple[Any, ...]]:
    table = columns[0].class_
    mine = and_(table.chain_id == chain_id, not_orphaned(table.chain_id, _BLOCK_OF[table]))
    return [tuple(row) for row in session.execute(select(*columns).where(mine).order_by(*columns[:3]))]
