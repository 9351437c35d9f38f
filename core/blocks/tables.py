"""What the chain said.

Everything here but the cursor and the leader rows is rebuildable: dropped and rescanned, the
canonical view (orphans, ids and incarnations left out) is the same (law 7).

Addresses and hashes are bytes; heights and unix seconds are bigint; canonicity lives in chain_block
alone.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Hash32


class ChainBlock(Base):
    """Every block seen at the tip, orphans included. One canonical block a height."""

    __tablename__ = "chain_block"
    __table_args__ = (
        Index(
            "uq_chain_block_canonical",
            "chain_id",
            "number",
            unique=True,
            postgresql_where=text("canonical"),
        ),
        Index(
            "ix_chain_block_orphan", "chain_id", "number", postgresql_where=text("not canonical")
        ),
    )

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    number: Mapped[int]
    parent_hash: Mapped[bytes] = mapped_column(Hash32)
    ts: Mapped[int]  # unix seconds
    canonical: Mapped[bool]
    seen_at: Mapped[datetime]


class ChainCursor(Base):
    """How far a loop has come.

    Advanced by compare-and-set on (hash, epoch) in the transaction of the data.
    """

    __tablename__ = "chain_cursor"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    chain_id: Mapped[int]
    number: Mapped[int]
    hash: Mapped[bytes] = mapped_column(Hash32)
    epoch: Mapped[int]
    updated_at: Mapped[datetime]


class RawLogRow(Base):
    """A log of the factory, a vault or a listed adapter, as the node gave it. Immutable."""

    __tablename__ = "raw_log"
    __table_args__ = (Index("ix_raw_log_address_number", "address", "number"),)

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    number: Mapped[int]
    tx_hash: Mapped[bytes] = mapped_column(Hash32)
    tx_index: Mapped[int] = mapped_column(Integer)
    address: Mapped[bytes] = mapped_column(BYTEA)
    topics: Mapped[list[bytes]] = mapped_column(ARRAY(BYTEA))
    data: Mapped[bytes] = mapped_column(BYTEA)


class RevertedTx(Base):
    """A plain transaction from a vault's agent (present or past) to the vault that reverted."""

    __tablename__ = "reverted_tx"
    __table_args__ = (Index("ix_reverted_tx_vault", "vault"),)

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    tx_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    number: Mapped[int]
    tx_index: Mapped[int] = mapped_column(Integer)
    sender: Mapped[bytes] = mapped_column(BYTEA)
    vault: Mapped[bytes] = mapped_column(BYTEA)
    input: Mapped[bytes | None] = mapped_column(BYTEA)  # call data, when it was read
    gas_used: Mapped[int]
    # Solidity error name; null until decoded; `unknown` if it can't be
    reason: Mapped[str | None] = mapped_column(Text)
    revert_data: Mapped[bytes | None] = mapped_column(BYTEA)


class Vault(Base):
    """A vault that the factory made.

    One whose creating block was orphaned is not canonical (join chain_block).
    """

    __tablename__ = "vault"
    __table_args__ = (
        Index("ix_vault_mandate_public_id", "public_id"),
        Index(
            "ix_vault_of_replaced_terms",
            "terms_digest",
            postgresql_where=text("is_of_replaced_terms"),
        ),
    )

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    created_block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    created_number: Mapped[int]
    created_at: Mapped[int]  # unix seconds of the block
    factory: Mapped[bytes] = mapped_column(BYTEA)
    terms_digest: Mapped[bytes] = mapped_column(Hash32)
    # null: a name that no mandate of this service has (indexer.chain.facts.kept_name)
    public_id: Mapped[str | None] = mapped_column(Text)
    owner: Mapped[bytes] = mapped_column(BYTEA)
    # null: a vault whose terms this service did not issue, or no mandate has any more
    mandate_id: Mapped[int | None]
    is_of_replaced_terms: Mapped[bool] = mapped_column(server_default=text("false"))


class VaultLogHead(Base):
    """A vault's own hash of its logs up to `number`, as nodes read it and as our logs make it.

    A vault without a row is proven up to its creation.
    """

    __tablename__ = "vault_log_head"
    __table_args__ = (Index("ix_vault_log_head_number", "chain_id", "number"),)

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    number: Mapped[int]  # the block of the newest log that it counts
    head: Mapped[bytes] = mapped_column(Hash32)


class Adapter(Base):
    """An adapter that the factory listed, with the rules it publishes (read once, at the block that
    listed it).
    """

    __tablename__ = "adapter"

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    listed_block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    listed_number: Mapped[int]
    delisted_block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    rules: Mapped[list[Any]] = mapped_column(JSONB)  # [{target, selector, recipient_word, kind}]


class VaultAgentRow(Base):
    """Every agent that a vault ever had, so that reverted calls of past agents are still found."""

    __tablename__ = "vault_agent"

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    vault: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    agent: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    since_block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    since_number: Mapped[int]


class Reorg(Base):
    """One unwind: heights (ancestor, old_head] were orphaned."""

    __tablename__ = "reorg"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    chain_id: Mapped[int]
    ancestor_number: Mapped[int]
    old_head_number: Mapped[int]
    rows_reversed: Mapped[int] = mapped_column(Integer)
    at: Mapped[datetime]
