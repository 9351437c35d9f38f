"""The tree of all heads as it was at each epoch, and where each root was posted.

What an epoch changed is added and stays, so that any epoch's proofs can be made later; the leaf of
a mandate is also kept as it is now.
"""

from datetime import datetime

from sqlalchemy import Index, LargeBinary, Text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Hash32


class AnchorEpoch(Base):
    """An epoch's root. The block, once the chain has it at a safe height."""

    __tablename__ = "anchor_epoch"

    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    root: Mapped[bytes] = mapped_column(Hash32)
    root_before: Mapped[bytes] = mapped_column(Hash32)
    # up to which block its post was looked for; at first the safe one when the root was made
    seen_block: Mapped[int]
    block_number: Mapped[int | None]
    block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    created_at: Mapped[datetime]


class AnchorLeaf(Base):
    """A mandate's newest leaf."""

    __tablename__ = "anchor_leaf"
    __table_args__ = (Index("ix_anchor_leaf_key", "key"),)

    public_id: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[bytes] = mapped_column(Hash32)
    seq: Mapped[int]
    leaf: Mapped[bytes] = mapped_column(Hash32)


class AnchorHead(Base):
    """A mandate's head as of an epoch in which it changed."""

    __tablename__ = "anchor_head"

    public_id: Mapped[str] = mapped_column(Text, primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class AnchorNode(Base):
    """The children of a node as of an epoch in which they changed (core.anchors.rules.path_of)."""

    __tablename__ = "anchor_node"

    path: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    left_hash: Mapped[bytes] = mapped_column(Hash32)
    right_hash: Mapped[bytes] = mapped_column(Hash32)


class AnchorForeign(Base):
    """A root that the contract has at a safe height and that is none of ours: its epoch, and every one
    before it that is not posted yet, will never be.
    """

    __tablename__ = "anchor_foreign"

    epoch: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    root: Mapped[bytes] = mapped_column(Hash32)
    block_number: Mapped[int]
    tx_hash: Mapped[bytes] = mapped_column(Hash32)
