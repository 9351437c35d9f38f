"""All SQL of reverted calls: a plain transaction from a vault's agent to the vault that the chain
refused.

The row is written with its block; the reason is looked up later and written once. Units and
forms as in chain.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import exists, update
from sqlalchemy.dialects.postgresql import insert

from core.blocks.tables import ChainBlock, RevertedTx
from core.chain.blocks import BlockHeader
from core.db.engine import WriteSession
from core.hexes import bytes_of


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
    block_hash: str
    parent_hash: str
    number: int
    at: int
    mandate_id: int | None


def add_reverts(
    session: WriteSession, chain_id: int, block: BlockHeader, reverts: Sequence[NewRevert]
) -> None:
    """Write them down at once.

    One whose block comes back is looked up and noted again, so its reason is cleared.
    """
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
    session.execute(
        insert(RevertedTx)
        .values(rows)
        .on_conflict_do_update(index_elements=keys, set_={"reason": None})
    )


def set_revert_reason(
    session: WriteSession,
    chain_id: int,
    revert: PendingRevert,
    reason: str,
    revert_data: bytes | None,
    input_: bytes | None,
) -> bool:
    """Write what was found; False when the block was orphaned meanwhile or the reason is there
    already.
    """
    canonical = exists().where(
        ChainBlock.chain_id == chain_id,
        ChainBlock.hash == RevertedTx.block_hash,
        ChainBlock.canonical.is_(True),
    )
    statement = (
        update(RevertedTx)
        .where(RevertedTx.chain_id == chain_id, RevertedTx.tx_hash == bytes_of(revert.tx_hash))
        .where(
            RevertedTx.block_hash == bytes_of(revert.block_hash),
            RevertedTx.reason.is_(None),
            canonical,
        )
        .values(reason=reason, revert_data=revert_data, input=input_)
        .returning(RevertedTx.tx_hash)
    )
    return session.execute(statement).one_or_none() is not None
