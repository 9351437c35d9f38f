"""All SQL of what the keeper's metrics and its balances ask of its rows. Reads only."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.hexes import bytes_of, hex_of
from core.keeper.intents import LIVE
from core.keeper.rules import HOLDING, STOPS, WAS_MINED
from core.keeper.tables import KeeperIntent, KeeperTx

IS_STOP = text(f"keeper_intent.{STOPS}")


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Live intents of one kind and state, and how long ago the oldest of them was planned."""

    kind: str
    state: str
    count: int
    oldest_s: float


def under_way(session: Session, chain_id: int, now: datetime) -> list[UnderWay]:
    query = (
        select(
            KeeperIntent.kind, KeeperIntent.state, func.count(), func.min(KeeperIntent.created_at)
        )
        .where(KeeperIntent.chain_id == chain_id, LIVE)
        .group_by(KeeperIntent.kind, KeeperIntent.state)
    )
    return [
        UnderWay(kind, state, count, (now - oldest).total_seconds())
        for kind, state, count, oldest in session.execute(query)
    ]


def stop_latencies(session: Session, chain_id: int) -> Mapping[int, int]:
    """How many stops were mined so many blocks after the block that they were first seen to be due
    at.
    """
    blocks = func.greatest(KeeperTx.mined_block - KeeperIntent.decided_block, 0)
    query = (
        select(blocks, func.count())
        .select_from(KeeperIntent)
        .join(KeeperTx, KeeperTx.intent_id == KeeperIntent.id)
        .where(KeeperIntent.chain_id == chain_id, IS_STOP, KeeperIntent.state.in_(WAS_MINED))
        .where(KeeperTx.mined_block.is_not(None), KeeperTx.is_filler.is_(False))
        .group_by(blocks)
    )
    return {found: count for found, count in session.execute(query)}  # noqa: C416 (mypy takes no Row for a pair)


def oldest_unmined_stop(session: Session, chain_id: int) -> int | None:
    """The block at which the stop was seen to be due that waits longest to be mined; None when none
    waits.
    """
    query = select(func.min(KeeperIntent.decided_block)).where(
        KeeperIntent.chain_id == chain_id, IS_STOP
    )
    return session.scalar(query.where(LIVE, KeeperIntent.state.not_in(WAS_MINED)))


def held_nonces(session: Session, signer: str) -> set[int]:
    """Nonces that transactions of live intents of this account hold."""
    query = (
        select(KeeperTx.nonce)
        .join(KeeperIntent, KeeperIntent.id == KeeperTx.intent_id)
        .where(KeeperTx.signer == bytes.fromhex(signer[2:]), KeeperTx.state.in_(HOLDING), LIVE)
    )
    return set(session.scalars(query))


def signed_nonces(session: Session, signer: str, first: int, end: int) -> list[int]:
    """Nonces of an account from `first` to before `end` that a row of ours has, sorted."""
    query = select(KeeperTx.nonce).where(
        KeeperTx.signer == bytes_of(signer), KeeperTx.nonce >= first, KeeperTx.nonce < end
    )
    return list(session.scalars(query.distinct().order_by(KeeperTx.nonce)))


def lost_nonces(session: Session, signer: str, first: int, end: int) -> dict[int, list[str]]:
    """Nonces of an account from `first` to before `end` whose rows are all lost, with their hashes."""
    query = (
        select(KeeperTx.nonce, func.array_agg(KeeperTx.hash))
        .where(KeeperTx.signer == bytes_of(signer), KeeperTx.nonce >= first, KeeperTx.nonce < end)
        .group_by(KeeperTx.nonce)
        .having(func.bool_and(KeeperTx.state.not_in(HOLDING)))
    )
    return {nonce: list(map(hex_of, hashes)) for nonce, hashes in session.execute(query)}
