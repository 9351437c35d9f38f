"""Vaults of ours that the registry refuses: known by the fact that their ledgers hold back, so that
nobody loses sight of them.

The registry (table vault) takes a vault in a savepoint of its own. When the database refuses the
row, the log that creates the vault is held (indexer.chain.registry); its kept log says address and
owner, the mandate's terms all else.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Select, and_, exists, func, literal, select
from sqlalchemy.orm import Session, aliased

from core.blocks.tables import ChainBlock, RawLogRow, Vault
from core.hexes import address_of
from core.quarantine.queries import IS_HELD, MANDATE
from core.quarantine.tables import QuarantinedFact

# keccak of VaultCreated's signature, whose topics are vault, terms digest and owner. A test holds
# it against the contract's ABI.
VAULT_CREATED = bytes.fromhex("86de77c6fedc478fd51f03ffc05f748e92f7bf27133327ca71b345f219a2f660")


@dataclass(frozen=True, slots=True)
class UnregisteredVault:
    """`address` and `owner` are checksum strings."""

    address: str
    owner: str
    mandate_id: int


def unregistered_vaults(session: Session, chain_id: int) -> list[UnregisteredVault]:
    """Those of the canonical chain, oldest first.

    With nothing held it costs one look at a partial index.
    """
    return [
        UnregisteredVault(address_of(vault), address_of(owner), id_)
        for vault, owner, id_ in session.execute(_refused_vaults(chain_id))
    ]


def registries(session: Session, chain_id: int) -> list[type[Vault]]:
    """The table vault, and what it refuses, to be asked as the table is; nearly always the table
    alone, which one look says.
    """
    is_whole = session.execute(_first_refused(chain_id)).first() is None
    return [Vault] if is_whole else [Vault, _refused_registry(chain_id)]


# Asked at each tick of the keeper and each look of the indexer: built once a chain.


@cache
def _refused_vaults(chain_id: int) -> Select[*tuple[Any, ...]]:
    refused = _refused_rows(chain_id).subquery()
    return select(refused.c.address, refused.c.owner, refused.c.mandate_id).order_by(
        refused.c.created_number, refused.c.address
    )


@cache
def _first_refused(chain_id: int) -> Select[tuple[object, ...]]:
    return _refused_rows(chain_id).limit(1)


@cache
def _refused_registry(chain_id: int) -> type[Vault]:
    return aliased(Vault, _refused_rows(chain_id).subquery(), adapt_on_names=True)


def _refused_rows(chain_id: int) -> Select[tuple[object, ...]]:
    """What would stand in the table vault, under the names of its columns.

    A fact whose block was orphaned is not held any more.
    """
    fact, log, taken = QuarantinedFact, RawLogRow, aliased(Vault)
    address = func.substring(log.topics[2], 13)
    same = and_(
        log.chain_id == fact.chain_id,
        log.block_hash == fact.block_hash,
        log.log_index == fact.log_index,
    )
    block = and_(ChainBlock.chain_id == fact.chain_id, ChainBlock.hash == fact.block_hash)
    stands = exists().where(
        taken.chain_id == fact.chain_id,
        taken.address == address,
        taken.created_block_hash == fact.block_hash,
    )
    return (
        select(
            fact.chain_id.label("chain_id"),
            address.label("address"),
            fact.block_hash.label("created_block_hash"),
            fact.block_number.label("created_number"),
            func.coalesce(ChainBlock.ts, literal(0)).label("created_at"),
            log.topics[3].label("terms_digest"),
            func.substring(log.topics[4], 13).label("owner"),
            fact.ledger_id.label("mandate_id"),
        )
        .join(log, same)
        .outerjoin(ChainBlock, block)
        .where(
            IS_HELD,
            fact.ledger == MANDATE,
            fact.topic == VAULT_CREATED,
            fact.chain_id == chain_id,
            ~stands,
        )
    )
