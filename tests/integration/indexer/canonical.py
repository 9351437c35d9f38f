"""What the canonical chain says in our tables: a table's rows without ids, orphans and incarnations.
Two scans of one chain give equal views (law 7).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, Table, select, tuple_
from sqlalchemy.orm import Session

from core.blocks.tables import (
    Adapter,
    ChainBlock,
    ChainCursor,
    RawLogRow,
    RevertedTx,
    Vault,
    VaultAgentRow,
)
from core.db.base import Base
from core.reserve.tables import ReserveEvent


@dataclass(frozen=True, slots=True)
class Part:
    """`table` and the columns that count; `block_hash` is the column that names a row's block."""

    table: str
    block_hash: str
    columns: tuple[str, ...]


PARTS: Mapping[str, Part] = {
    "blocks": Part("chain_block", "hash", ("number", "hash", "parent_hash", "ts")),
    "logs": Part(
        "raw_log",
        "block_hash",
        ("number", "log_index", "tx_hash", "tx_index", "address", "topics", "data"),
    ),
    "vaults": Part(
        "vault",
        "created_block_hash",
        ("created_number", "address", "terms_digest", "public_id", "owner", "mandate_id"),
    ),
    "agents": Part("vault_agent", "since_block_hash", ("since_number", "vault", "agent")),
    "adapters": Part("adapter", "listed_block_hash", ("listed_number", "address", "rules")),
    "reverts": Part(
        "reverted_tx", "block_hash", ("number", "tx_index", "tx_hash", "sender", "vault", "reason")
    ),
    "reserve": Part(
        "reserve_event",
        "block_hash",
        (
            "number",
            "log_index",
            "tx_hash",
            "kind",
            "party",
            "recipient",
            "account_ref",
            "tokens",
            "usdc_e6",
            "reserve_after_e6",
            "supply_after",
            "owed_after_e6",
            "is_paused_after",
            "treasury_after",
            "lock_after_e6",
            "lock_since_after",
            "lock_until_after_ns",
        ),
    ),
}
_TABLES = (
    Adapter,
    ChainBlock,
    ChainCursor,
    RawLogRow,
    ReserveEvent,
    RevertedTx,
    Vault,
    VaultAgentRow,
)
LIVE: Mapping[str, Table] = {
    table.__tablename__: Base.metadata.tables[table.__tablename__] for table in _TABLES
}


def canonical_rows(part: Part, tables: Mapping[str, Table], chain_id: int) -> Select[Any]:
    """The rows of one part in these tables.

    One whose block is no longer kept counts; one of an orphan does not.
    """
    table = tables[part.table]
    return select(*(table.c[name] for name in part.columns)).where(
        table.c.chain_id == chain_id, ~is_orphan(part, tables)
    )


def is_orphan(part: Part, tables: Mapping[str, Table]) -> Any:
    """Whether the row's block is kept as one that a reorg threw out."""
    table, block = tables[part.table], tables["chain_block"].alias("block_of_row")
    same = tuple_(block.c.chain_id, block.c.hash) == tuple_(
        table.c.chain_id, table.c[part.block_hash]
    )
    return select(block.c.hash).where(same, block.c.canonical.is_(False)).correlate(table).exists()


def canonical_view(session: Session, chain_id: int) -> dict[str, list[tuple[Any, ...]]]:
    """Every rebuildable fact of the canonical chain, in order."""
    view = {}
    for name, part in PARTS.items():
        query = canonical_rows(part, LIVE, chain_id)
        view[name] = [
            tuple(row) for row in session.execute(query.order_by(*list(query.selected_columns)[:3]))
        ]
    return view
