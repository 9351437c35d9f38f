"""The registry of vaults: vaults of the factory, their agents, listed adapters.

Forms as in core.blocks.queries.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import ColumnElement, and_, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.blocks.queries import insert_new, not_orphaned
from core.blocks.tables import Adapter, Vault, VaultAgentRow
from core.chain.blocks import BlockHeader
from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVault:
    address: str
    factory: str
    terms_digest: str
    public_id: str | None  # None: a name of which nothing is kept
    owner: str
    mandate_id: int | None  # None: a vault whose terms this service did not issue


@dataclass(frozen=True, slots=True)
class KnownVault:
    """A canonical vault and every agent that it ever had, the newest last."""

    address: str
    owner: str
    mandate_id: int | None
    agents: tuple[str, ...]


def add_vaults(
    session: WriteSession,
    chain_id: int,
    vaults: Sequence[tuple[BlockHeader, NewVault]],
    replaced: Collection[str],
) -> None:
    """Vaults with the blocks that created them.

    `replaced`: digests among theirs of terms that a draft no longer has, so that nobody searches
    for those.
    """
    insert_new(
        session,
        Vault,
        [
            {
                "chain_id": chain_id,
                "address": bytes_of(vault.address),
                "created_block_hash": bytes_of(block.hash),
                "created_number": block.number,
                "created_at": block.timestamp,
                "factory": bytes_of(vault.factory),
                "terms_digest": bytes_of(vault.terms_digest),
                "public_id": vault.public_id,
                "owner": bytes_of(vault.owner),
                "mandate_id": vault.mandate_id,
                "is_of_replaced_terms": vault.mandate_id is None and vault.terms_digest in replaced,
            }
            for block, vault in vaults
        ],
    )


def add_agents(
    session: WriteSession, chain_id: int, agents: Iterable[tuple[BlockHeader, tuple[str, str]]]
) -> None:
    """(vault, agent) pairs with the blocks that named them."""
    rows = [
        {
            "chain_id": chain_id,
            "since_block_hash": bytes_of(block.hash),
            "since_number": block.number,
            "vault": bytes_of(vault),
            "agent": bytes_of(agent),
        }
        for block, (vault, agent) in dict.fromkeys(agents)
    ]
    insert_new(session, VaultAgentRow, rows)


def known_vaults(session: Session, chain_id: int) -> list[KnownVault]:
    """Every canonical vault with all its agents, oldest first."""
    agents: dict[bytes, list[str]] = {}
    for vault, agent in session.execute(_agents_query(chain_id)):
        agents.setdefault(vault, []).append(address_of(agent))
    query = (
        select(Vault.address, Vault.owner, Vault.mandate_id)
        .where(Vault.chain_id == chain_id, not_orphaned(Vault.chain_id, Vault.created_block_hash))
        .order_by(Vault.created_number)
    )
    return [
        KnownVault(
            address_of(address), address_of(owner), mandate_id, tuple(agents.get(address, ()))
        )
        for address, owner, mandate_id in session.execute(query)
    ]


def agent_history(session: Session, chain_id: int, vault: str) -> list[tuple[int, str]]:
    """(height, agent) as the vault named them, in their order."""
    query = select(VaultAgentRow.since_number, VaultAgentRow.agent).where(
        VaultAgentRow.chain_id == chain_id,
        VaultAgentRow.vault == bytes_of(vault),
        not_orphaned(VaultAgentRow.chain_id, VaultAgentRow.since_block_hash),
    )
    rows = session.execute(query.order_by(VaultAgentRow.since_number))
    return [(number, address_of(agent)) for number, agent in rows]


def _agents_query(chain_id: int) -> Any:
    mine = and_(
        VaultAgentRow.chain_id == chain_id,
        not_orphaned(VaultAgentRow.chain_id, VaultAgentRow.since_block_hash),
    )
    return (
        select(VaultAgentRow.vault, VaultAgentRow.agent)
        .where(mine)
        .order_by(VaultAgentRow.since_number)
    )


def add_adapter(
    session: WriteSession,
    chain_id: int,
    block: BlockHeader,
    adapter: str,
    rules: Sequence[Mapping[str, Any]],
) -> None:
    """An adapter listed in that block, with the rules that it published there, as JSON; open again
    if it was delisted there before.
    """
    row = {
        "chain_id": chain_id,
        "address": bytes_of(adapter),
        "listed_block_hash": bytes_of(block.hash),
        "listed_number": block.number,
        "delisted_block_hash": None,
        "rules": list(rules),
    }
    key = ["chain_id", "address", "listed_block_hash"]
    session.execute(
        insert(Adapter)
        .values(row)
        .on_conflict_do_update(index_elements=key, set_={"delisted_block_hash": None})
    )


def delist_adapter(session: WriteSession, chain_id: int, block: BlockHeader, adapter: str) -> None:
    """The adapter's open listing ends in that block (a delisting that was orphaned is open
    again).
    """
    listing = and_(
        Adapter.chain_id == chain_id, Adapter.address == bytes_of(adapter), ~_is_delisted()
    )
    canonical = not_orphaned(Adapter.chain_id, Adapter.listed_block_hash)
    session.execute(
        update(Adapter).where(listing, canonical).values(delisted_block_hash=bytes_of(block.hash))
    )


def _is_delisted() -> ColumnElement[bool]:
    return and_(
        Adapter.delisted_block_hash.is_not(None),
        not_orphaned(Adapter.chain_id, Adapter.delisted_block_hash),
    )


def ever_listed_adapters(session: Session, chain_id: int) -> set[str]:
    """Every adapter that was ever listed: a delisted one still serves the vaults that name it."""
    query = select(Adapter.address).where(
        Adapter.chain_id == chain_id, not_orphaned(Adapter.chain_id, Adapter.listed_block_hash)
    )
    return {address_of(address) for address in session.scalars(query)}


def listed_adapters(session: Session, chain_id: int) -> list[tuple[str, list[Any]]]:
    """Adapters that the factory lists now, on the canonical chain: (lower-case address, published
    rules).
    """
    listed = not_orphaned(Adapter.chain_id, Adapter.listed_block_hash)
    query = select(Adapter).where(Adapter.chain_id == chain_id, listed, ~_is_delisted())
    return [
        ("0x" + row.address.hex(), row.rules)
        for row in session.scalars(query.order_by(Adapter.address))
    ]


def agents_since(session: Session, chain_id: int) -> dict[tuple[str, str], int]:
    """(vault, agent) -> the height that first named it; of vaults of mandates of this service."""
    mine = and_(Vault.chain_id == VaultAgentRow.chain_id, Vault.address == VaultAgentRow.vault)
    query = (
        select(VaultAgentRow.vault, VaultAgentRow.agent, func.min(VaultAgentRow.since_number))
        .join(Vault, and_(mine, Vault.mandate_id.is_not(None)))
        .where(VaultAgentRow.chain_id == chain_id)
    )
    query = query.where(
        not_orphaned(VaultAgentRow.chain_id, VaultAgentRow.since_block_hash)
    ).group_by(VaultAgentRow.vault, VaultAgentRow.agent)
    return {
        (to_checksum_address(vault), to_checksum_address(agent)): number
        for vault, agent, number in session.execute(query)
    }
