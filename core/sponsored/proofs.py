"""All SQL of what verdicts on sponsored buys rest on: uses and lapses that are proved, disputes, and
those that wait for either.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.blocks import queries as blocks
from core.blocks.queries import not_orphaned
from core.db.engine import WriteSession
from core.sponsored.rules import ProvedBy, Use
from core.sponsored.tables import SponsoredBuy, SponsoredDispute, SponsoredProof, SponsoredUse

FIRST_WAIT, MOST_WAIT = timedelta(seconds=5), timedelta(minutes=10)
MOST_DOUBLINGS = 7


def is_proved(
    chain_id: InstrumentedAttribute[int],
    nonce: InstrumentedAttribute[str],
    use: type[SponsoredUse],
) -> ColumnElement[bool]:
    """Whether what the record holds of the nonce is proved: `use` in its block, or, where that is
    null, that there is none.
    """
    proof = SponsoredProof
    of_use = and_(proof.is_used, proof.block_hash == use.block_hash)
    of_none = and_(~proof.is_used, use.nonce.is_(None))
    return exists().where(
        proof.chain_id == chain_id,
        proof.nonce == nonce,
        or_(of_use, of_none),
        not_orphaned(proof.chain_id, proof.block_hash),
    )


def is_proved_use(use: type[SponsoredUse]) -> ColumnElement[bool]:
    """Whether that block is proved to hold the use."""
    proof = SponsoredProof
    return exists().where(
        proof.chain_id == use.chain_id,
        proof.nonce == use.nonce,
        proof.is_used,
        proof.block_hash == use.block_hash,
    )


def is_proved_unpaid(
    chain_id: InstrumentedAttribute[int], nonce: InstrumentedAttribute[str]
) -> ColumnElement[bool]:
    """Whether it is proved that nobody used it, or for what else, and no block ever paid by it."""
    use, proof = SponsoredUse, SponsoredProof
    return and_(
        ~exists().where(use.chain_id == chain_id, use.nonce == nonce, use.use == Use.PAID),
        exists().where(
            proof.chain_id == chain_id,
            proof.nonce == nonce,
            not_orphaned(proof.chain_id, proof.block_hash),
        ),
    )


def drop(session: WriteSession, nonces: Sequence[tuple[int, str]]) -> None:
    """Forget all about these, each of a chain, whose quotes are gone."""
    for table in (SponsoredUse, SponsoredProof, SponsoredDispute):
        session.execute(delete(table).where(tuple_(table.chain_id, table.nonce).in_(nonces)))


def dispute_of(nonce: InstrumentedAttribute[str]) -> ScalarSelect[str]:
    """Why nothing is proved of it; null: nothing is disputed."""
    return (
        select(SponsoredDispute.why).where(SponsoredDispute.nonce == nonce).limit(1)
    ).scalar_subquery()


# What waits


@dataclass(frozen=True, slots=True)
class Unproved:
    """`blocks`: hash -> the nonces that the record saw used in it. `unused`: nonce -> its buyer, of
    those that the record saw nothing of, and whose time is over.
    """

    blocks: dict[str, tuple[str, ...]]
    unused: dict[str, str]
    since: int  # unix second before which none of `unused` existed


@dataclass(frozen=True, slots=True)
class SafeSpan:
    """Up to where verdicts may be final, and from where on they are looked for: a height and a unix
    second of each.
    """

    number: int
    at: int
    first_number: int = 0
    first_at: int = 0


def unproved(
    session: Session,
    chain_id: int,
    span: SafeSpan,
    now: datetime,
    limit: int,
) -> Unproved:
    """What is due of them: at most `limit` uses, and as many of each transfer of buys; where there are
    none, of quotes that nobody handed in, whose fee may have been submitted all the same.
    """
    values = {**_values_of(span), "now": now, "most": limit}
    in_blocks = dict[str, tuple[str, ...]]()
    for block_hash, nonce in session.execute(_due_uses(chain_id), values):
        in_blocks[block_hash] = (*in_blocks.get(block_hash, ()), nonce)
    buy_nonce, fee_nonce = SponsoredBuy.buy_nonce, SponsoredBuy.fee_nonce
    lapses = [
        row
        for column in (buy_nonce, fee_nonce)
        for row in session.execute(_due_lapses(column, chain_id), values)
    ]
    if not in_blocks and not lapses:  # quotes cost nothing: they hold up nobody's buy
        quotes = _due_lapses(fee_nonce, chain_id, of_quotes=True)
        lapses = list(session.execute(quotes, values))
    unused = {nonce: buyer for nonce, buyer, _ in lapses}
    since = min((int(created_at.timestamp()) for *_, created_at in lapses), default=span.at)
    return Unproved(in_blocks, unused, since)


def unproved_counts(session: Session, chain_id: int, span: SafeSpan) -> tuple[int, int]:
    """(uses that are not proved, disputes)."""
    waiting = _unproved_uses(chain_id).subquery()
    count = select(func.count()).select_from(waiting)
    uses = session.scalar(count, _values_of(span)) or 0
    of_chain = SponsoredDispute.chain_id == chain_id
    return uses, session.scalar(select(func.count()).where(of_chain)) or 0


def _values_of(span: SafeSpan) -> dict[str, Any]:
    return {
        "first_number": span.first_number,
        "last_number": span.number,
        "first_at": span.first_at,
        "last_at": span.at,
    }


@cache
def _due_uses(chain_id: int) -> Select[*tuple[Any, ...]]:
    use = SponsoredUse
    return _unproved_uses(chain_id).where(_is_due(use.nonce)).limit(bindparam("most"))


def _unproved_uses(chain_id: int) -> Select[*tuple[Any, ...]]:
    use = SponsoredUse
    query = select(use.block_hash, use.nonce).where(
        use.chain_id == chain_id,
        use.number.between(bindparam("first_number"), bindparam("last_number")),
        not_orphaned(use.chain_id, use.block_hash),
        ~is_proved_use(use),
    )
    return query.order_by(use.number, use.block_hash, use.nonce)


@cache
def _due_lapses(
    nonce: InstrumentedAttribute[str], chain_id: int, *, of_quotes: bool = False
) -> Select[*tuple[Any, ...]]:
    """Of buys that were handed in, or of which one authorization was used; `of_quotes`: of the
    others.
    """
    row, proof, use = SponsoredBuy, SponsoredProof, SponsoredUse
    is_used = exists().where(
        use.chain_id == chain_id, use.nonce.in_([row.buy_nonce, row.fee_nonce])
    )
    is_buy = or_(row.accepted_at.is_not(None), is_used)
    query = select(nonce, row.buyer, row.created_at).where(
        row.chain_id == chain_id,
        ~is_buy if of_quotes else is_buy,
        _is_due(nonce),
        row.valid_before.between(bindparam("first_at"), bindparam("last_at")),
        ~exists().where(
            use.chain_id == chain_id,
            use.nonce == nonce,
            not_orphaned(use.chain_id, use.block_hash),
        ),
        ~exists().where(
            proof.chain_id == chain_id,
            proof.nonce == nonce,
            ~proof.is_used,
            not_orphaned(proof.chain_id, proof.block_hash),
        ),
    )
    return query.order_by(row.valid_before).limit(bindparam("most"))


def _is_due(nonce: InstrumentedAttribute[str]) -> ColumnElement[bool]:
    dispute = SponsoredDispute
    return ~exists().where(dispute.nonce == nonce, dispute.next_at > bindparam("now"))


def wait_after(tries: int) -> timedelta:
    """How long what was asked so often in vain rests: 5, 10, 20 seconds ... 10 minutes."""
    return min(MOST_WAIT, FIRST_WAIT * (1 << min(tries - 1, MOST_DOUBLINGS)))


# What became of them


def prove(
    session: WriteSession,
    chain_id: int,
    nonces: Collection[str],
    block_hash: str,
    by: ProvedBy,
    now: datetime,
    *,
    is_used: bool,
) -> None:
    """Write down what these rest on; their disputes are over."""
    rows = [
        {
            "chain_id": chain_id,
            "nonce": nonce,
            "block_hash": block_hash,
            "is_used": is_used,
            "by": by,
            "at": now,
        }
        for nonce in nonces
    ]
    blocks.insert_new(session, SponsoredProof, rows)
    settle(session, chain_id, nonces)


def settle(session: WriteSession, chain_id: int, nonces: Collection[str]) -> None:
    """Their disputes are over."""
    session.execute(
        delete(SponsoredDispute).where(
            SponsoredDispute.chain_id == chain_id, SponsoredDispute.nonce.in_(nonces)
        )
    )


def dispute(
    session: WriteSession, chain_id: int, nonces: Iterable[str], why: str, now: datetime
) -> None:
    """Asked again later, twice as long each time."""
    for nonce in nonces:
        row = session.get(SponsoredDispute, (chain_id, nonce))
        if row is None:
            row = SponsoredDispute(chain_id=chain_id, nonce=nonce, since=now, tries=0)
            session.add(row)
        row.why, row.tries = why, row.tries + 1
        row.next_at = now + wait_after(row.tries)
