"""All SQL of what the vaults' own hash of their logs proves (core.chain.log_head).

Laws
- A kept head is one that nodes read from a vault and that our logs make: what is folded again grows
  with the logs since, not with the record.
- Only logs of canonical blocks count. Where blocks are orphaned, the heads above the ancestor go,
  and those vaults are folded from their terms' digest again.
- A head counts all logs up to its `number`, the newest one's block or a later one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, Select, and_, delete, func, select
from sqlalchemy.dialects.postgresql import BYTEA, insert
from sqlalchemy.orm import Session

from core.blocks.queries import not_orphaned, raw_log_of
from core.blocks.tables import ChainBlock, RawLogRow, Vault, VaultLogHead
from core.chain.blocks import RawLog
from core.chain.log_head import grown
from core.db.arrays import parts_of, table_of
from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of

LOGS_AT_ONCE = 500  # in memory, of the logs that are folded
VAULTS_A_READ = 20  # whose logs the database puts in order at once


@dataclass(frozen=True, slots=True)
class LogHead:
    """A vault's word after its logs up to `number`, as a rule the newest one's block."""

    number: int
    word: bytes


@dataclass(frozen=True, slots=True)
class ProvenVault:
    """A canonical vault, and the newest head that was proven; at first its terms' digest."""

    address: str
    owner: str
    mandate_id: int | None
    created_number: int
    head: LogHead


def proven_vaults(
    session: Session,
    chain_id: int,
    *,
    after: str = "0x",
    among: Iterable[str] | None = None,
    limit: int | None = None,
) -> list[ProvenVault]:
    """Vaults by rising address: above `after`, or those `among`."""
    kept = and_(VaultLogHead.chain_id == Vault.chain_id, VaultLogHead.address == Vault.address)
    query = (
        select(
            Vault.address,
            Vault.owner,
            Vault.mandate_id,
            Vault.created_number,
            Vault.terms_digest,
            VaultLogHead.number,
            VaultLogHead.head,
        )
        .outerjoin(VaultLogHead, kept)
        .where(Vault.chain_id == chain_id, not_orphaned(Vault.chain_id, Vault.created_block_hash))
    )
    if among is not None:
        query = query.where(Vault.address.in_([bytes_of(address) for address in among]))
    rows = session.execute(
        query.where(Vault.address > bytes_of(after)).order_by(Vault.address).limit(limit)
    )
    return [
        ProvenVault(
            address_of(address),
            address_of(owner),
            mandate_id,
            created,
            LogHead(created - 1, digest) if number is None else LogHead(number, head),
        )
        for address, owner, mandate_id, created, digest, number, head in rows
    ]


def heads_at(
    session: Session, chain_id: int, vaults: Sequence[ProvenVault], number: int
) -> dict[str, LogHead]:
    """By vault its head at that height, folded from the proven one."""
    found = {vault.address: vault.head for vault in vaults}
    for some in parts_of(vaults, VAULTS_A_READ):
        asked = table_of(
            "asked",
            {
                "address": (BYTEA, [bytes_of(vault.address) for vault in some]),
                "above": (BigInteger, [vault.head.number for vault in some]),
            },
        )
        query = (
            _logs(chain_id)
            .where(
                RawLogRow.address == asked.c.address,
                RawLogRow.number > asked.c.above,
                RawLogRow.number <= number,
            )
            .order_by(RawLogRow.address, RawLogRow.number, RawLogRow.log_index)
        )
        with session.execute(query.execution_options(yield_per=LOGS_AT_ONCE)) as rows:
            for height, address, topics, data, at in rows:
                vault = address_of(address)
                word = grown(found[vault].word, height, at, b"".join(topics) + data)
                found[vault] = LogHead(height, word)
    return found


def logs_since(
    session: Session, chain_id: int, address: str, above: int, up_to: int | None = None
) -> list[RawLog]:
    """The canonical logs of a contract in these blocks, in order; `up_to` None: in all above."""
    query = select(RawLogRow).where(
        RawLogRow.chain_id == chain_id,
        RawLogRow.address == bytes_of(address),
        RawLogRow.number > above,
        not_orphaned(RawLogRow.chain_id, RawLogRow.block_hash),
    )
    query = query if up_to is None else query.where(RawLogRow.number <= up_to)
    in_order = query.order_by(RawLogRow.number, RawLogRow.log_index)
    return [raw_log_of(row) for row in session.scalars(in_order)]


def count_of(
    session: Session, chain_id: int, address: str, topic: str, above: int, up_to: int
) -> int:
    """How many logs of a contract begin with that topic in these blocks."""
    query = select(func.count()).where(
        RawLogRow.chain_id == chain_id,
        RawLogRow.address == bytes_of(address),
        RawLogRow.topics[1] == bytes_of(topic),
        RawLogRow.number > above,
        RawLogRow.number <= up_to,
        not_orphaned(RawLogRow.chain_id, RawLogRow.block_hash),
    )
    return session.execute(query).scalar_one()


def keep_heads(session: WriteSession, chain_id: int, heads: Mapping[str, LogHead]) -> None:
    """By vault what was proven."""
    rows = [
        {
            "chain_id": chain_id,
            "address": bytes_of(vault),
            "number": head.number,
            "head": head.word,
        }
        for vault, head in sorted(heads.items())
    ]
    if rows:
        statement = insert(VaultLogHead)
        fresh = {name: statement.excluded[name] for name in ("number", "head")}
        session.execute(
            statement.on_conflict_do_update(index_elements=["chain_id", "address"], set_=fresh),
            rows,
        )


def forget_heads(session: WriteSession, chain_id: int, above: int) -> int:
    """Those that count a log above that height; how many."""
    statement = delete(VaultLogHead).where(
        VaultLogHead.chain_id == chain_id, VaultLogHead.number > above
    )
    return len(session.execute(statement.returning(VaultLogHead.address)).all())


def remove_logs(session: WriteSession, chain_id: int, logs: Iterable[RawLog]) -> None:
    """The chain has no such logs."""
    for one in logs:
        session.execute(
            delete(RawLogRow).where(
                RawLogRow.chain_id == chain_id,
                RawLogRow.block_hash == bytes_of(one.block_hash),
                RawLogRow.log_index == one.log_index,
            )
        )


def _logs(chain_id: int) -> Select[*tuple[Any, ...]]:
    """With the times of their blocks."""
    block = and_(
        ChainBlock.chain_id == RawLogRow.chain_id,
        ChainBlock.hash == RawLogRow.block_hash,
        ChainBlock.canonical,
    )
    columns = (
        RawLogRow.number,
        RawLogRow.address,
        RawLogRow.topics,
        RawLogRow.data,
        ChainBlock.ts,
    )
    return select(*columns).join(ChainBlock, block).where(RawLogRow.chain_id == chain_id)
