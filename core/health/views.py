"""What /health/ready and `indexer.main status` ask the database about the database itself and about
the loops.
"""

from dataclasses import dataclass
from datetime import datetime

from eth_utils.address import to_checksum_address
from sqlalchemy import and_, func, select, text
from sqlalchemy.orm import Session

from core.audit.queries import open_counts
from core.blocks.queries import FINALIZED, TIP, not_orphaned
from core.blocks.tables import ChainBlock, ChainCursor, Reorg, RevertedTx, Vault
from core.db.leadership import leader_row
from core.db.outage import SAID, OutageKind
from core.db.revisions import recorded
from core.health.rules import IndexerFacts
from core.quarantine.queries import held_counts

INDEXER = "indexer"  # the leader's name
OUTAGE_IS_NEWS_S = 30.0
_TAKES_NO_WRITES = (
    "select pg_is_in_recovery() or current_setting('default_transaction_read_only') = 'on'"
)


def recorded_revisions(session: Session) -> list[str]:
    """The migrations that the database says it is at. Errors: OperationalError when it is down."""
    return recorded(session.connection())


def outage(session: Session) -> OutageKind | None:
    """What keeps the database from working, as it says itself, or as this process met it just now."""
    if session.scalar(text(_TAKES_NO_WRITES)):
        return OutageKind.READ_ONLY
    met = SAID.within(OUTAGE_IS_NEWS_S)
    return None if met is OutageKind.READ_ONLY else met  # which is over, and not yet written upon


@dataclass(frozen=True, slots=True)
class LoopPosition:
    """Where a loop is.

    `moved_at`: when its cursor moved last; `block_at`: that block's own time in unix seconds, None
    unkept.
    """

    number: int
    moved_at: datetime
    block_at: int | None


def position(session: Session, cursor: str) -> LoopPosition | None:
    """None: the loop has never run."""
    same = and_(ChainBlock.chain_id == ChainCursor.chain_id, ChainBlock.hash == ChainCursor.hash)
    query = (
        select(ChainCursor.number, ChainCursor.updated_at, ChainBlock.ts)
        .outerjoin(ChainBlock, same)
        .where(ChainCursor.name == cursor)
    )
    row = session.execute(query).one_or_none()
    return None if row is None else LoopPosition(*row)


def indexer_facts(session: Session, now: datetime, head: int | None) -> IndexerFacts:
    """What Postgres knows of the indexer, beside the node's height."""
    row, at, final = (
        leader_row(session, INDEXER),
        position(session, TIP),
        position(session, FINALIZED),
    )
    status = {} if row is None else row.status
    halted = status.get("halted_below")
    ledgers, held = held_counts(session)
    return IndexerFacts(
        now=now,
        beat_at=None if row is None else row.beat_at,
        state=status.get("state"),
        halted_below=None if halted is None else (halted["number"], halted["hash"]),
        cursor=None if at is None else at.number,
        moved_at=None if at is None else at.moved_at,
        block_at=None if at is None else at.block_at,
        head=head,
        final=None if final is None else final.number,
        open_findings=sum(open_counts(session).values()),
        held_ledgers=ledgers,
        held_facts=held,
    )


@dataclass(frozen=True, slots=True)
class PastReorg:
    """One unwind: `depth` blocks above `ancestor` were orphaned, `rows` of the ledgers reversed."""

    at: datetime
    ancestor: int
    depth: int
    rows: int


def last_reorgs(session: Session, chain_id: int, limit: int) -> list[PastReorg]:
    """The newest first."""
    query = select(Reorg).where(Reorg.chain_id == chain_id).order_by(Reorg.id.desc()).limit(limit)
    return [
        PastReorg(
            row.at,
            row.ancestor_number,
            row.old_head_number - row.ancestor_number,
            row.rows_reversed,
        )
        for row in session.scalars(query)
    ]


def open_reverts(session: Session, chain_id: int) -> int:
    """Canonical reverted calls whose reason was not looked up yet."""
    canonical = not_orphaned(RevertedTx.chain_id, RevertedTx.block_hash)
    query = (
        select(func.count())
        .select_from(RevertedTx)
        .where(RevertedTx.chain_id == chain_id, RevertedTx.reason.is_(None), canonical)
    )
    return session.execute(query).scalar_one()


def unknown_vaults(session: Session, chain_id: int, limit: int) -> tuple[int, list[str]]:
    """How many vaults of the factory have terms that this service did not issue, and the newest of
    them.
    """
    mine = and_(
        Vault.chain_id == chain_id,
        Vault.mandate_id.is_(None),
        not_orphaned(Vault.chain_id, Vault.created_block_hash),
    )
    count = session.execute(select(func.count()).select_from(Vault).where(mine)).scalar_one()
    newest = session.scalars(
        select(Vault.address).where(mine).order_by(Vault.created_number.desc()).limit(limit)
    )
    return count, [to_checksum_address(address) for address in newest]
