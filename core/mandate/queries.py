"""All SQL of mandates; their ledgers are read by core.mandate.rows and written by
core.mandate.ledger.

Laws
- Nothing here commits; sessions belong to the edge.
- Lists are newest first and paged by the last id or seq seen (exclusive).
- A reversed row and its reversal are both returned: the domain leaves them out
  (core.mandate.rules.fold.effective).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    DateTime,
    Select,
    Text,
    and_,
    any_,
    bindparam,
    cast,
    exists,
    literal,
    or_,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.orm import Session, joinedload

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.identity.names import is_simulated
from core.mandate.rules.lifecycle import ACTIVE, CLOSED, Status
from core.mandate.rules.rows import RowKind
from core.mandate.tables import ON_BOARD, Mandate, MandateEvent, ReplacedTerms

SAMPLE_ID: Final = "m_simsamplea"
"""Of the mandate that `make seed-world` marks for everybody to look at."""

# Mandates


def find_mandate(session: Session, public_id: str) -> Mandate | None:
    return session.scalar(_of_public_id(), {"public_id": public_id})


@cache
def _of_public_id() -> Select[Mandate]:
    return select(Mandate).where(Mandate.public_id == bindparam("public_id", type_=Text))


def read_mandate(session: Session, public_id: str) -> Mandate | None:
    """The row with its head and its agent, in one statement: for reads, whose snapshot does not
    change.
    """
    return session.scalar(_with_head_and_agent(), {"public_id": public_id})


def is_sample(mandate: Mandate) -> bool:
    """Whether anybody may read it: the id alone is not enough, its agent is simulated too."""
    agent = mandate.agent
    return mandate.public_id == SAMPLE_ID and agent is not None and is_simulated(agent)


def sample_id(session: Session) -> str | None:
    """None: there is no simulated world."""
    found = read_mandate(session, SAMPLE_ID)
    return SAMPLE_ID if found is not None and is_sample(found) else None


@cache
def _with_head_and_agent() -> Select[Mandate]:
    return _of_public_id().options(joinedload(Mandate.head), joinedload(Mandate.agent))


def lock_mandate(session: WriteSession, mandate_id: int) -> Mandate | None:
    """The row, held until the transaction ends: moves of one mandate come one after the other."""
    return session.scalar(_held_by_id(), {"mandate_id": mandate_id})


def lock_named(session: WriteSession, public_id: str) -> Mandate | None:
    """The same of its public id."""
    return session.scalar(_held_by_public_id(), {"public_id": public_id})


@cache
def _held_by_id() -> Select[Mandate]:
    return _held(select(Mandate).where(Mandate.id == bindparam("mandate_id", type_=BigInteger)))


@cache
def _held_by_public_id() -> Select[Mandate]:
    return _held(_of_public_id())


def _held(query: Select[Mandate]) -> Select[Mandate]:
    held = query.with_for_update(key_share=True)
    return held.execution_options(populate_existing=True)


def replace_terms(session: WriteSession, mandate: Mandate, now: datetime) -> None:
    """Remember the terms that the draft has, before it gets others: their signature may be out.

    Terms that come again stay as they were.
    """
    values = {"digest": mandate.terms_digest, "mandate_id": mandate.id, "replaced_at": now}
    values |= {
        name: getattr(mandate, name) for name in ("budget_usdc_e6", "stop_floor_bps", "ends_at")
    }
    session.execute(upsert(ReplacedTerms).values(values).on_conflict_do_nothing())


def public_id_is_taken(session: Session, public_id: str) -> bool:
    return session.scalar(select(Mandate.id).where(Mandate.public_id == public_id)) is not None


def add_mandate(session: WriteSession, mandate: Mandate) -> Mandate:
    session.add(mandate)
    session.flush()
    return mandate


# Lists are what programs poll: each form of a list is built once, with names for its values, and
# not again for every call.


@cache
def _list(of: str, by_status: bool, is_later_page: bool) -> Select[Mandate]:
    """The newest first.

    Values: who, now, statuses, before_id, limit, as far as the form has them.
    """
    who, now = bindparam("who", type_=BigInteger), bindparam("now", type_=DateTime(timezone=True))
    wanted: dict[str, ColumnElement[bool]] = {
        "owner": Mandate.owner_id == who,
        "agent": or_(
            Mandate.agent_id == who,
            and_(Mandate.proposed_by_agent_id == who, Mandate.status == Status.DRAFT),
        ),
        "offers": and_(
            Mandate.agent_id == who, Mandate.accepted_at.is_(None), Mandate.ends_at > now
        ),
        "board": and_(text(ON_BOARD), Mandate.ends_at > now),
    }
    query = select(Mandate).where(wanted[of])
    if by_status:
        query = query.where(Mandate.status.in_(bindparam("statuses", expanding=True)))
    if is_later_page:
        query = query.where(Mandate.id < bindparam("before_id", type_=BigInteger))
    return query.order_by(Mandate.id.desc()).limit(bindparam("limit", type_=BigInteger))


def _page(
    session: Session,
    of: str,
    who: int | None,
    statuses: Sequence[str] | None,
    before_id: int | None,
    limit: int,
    now: datetime | None = None,
) -> list[Mandate]:
    given = {"who": who, "now": now, "statuses": statuses, "before_id": before_id, "limit": limit}
    values = {name: value for name, value in given.items() if value}
    return list(session.scalars(_list(of, bool(statuses), before_id is not None), values))


def mandates_of_owner(
    session: Session,
    owner_id: int,
    statuses: Sequence[str] | None,
    before_id: int | None,
    limit: int,
) -> list[Mandate]:
    return _page(session, "owner", owner_id, statuses, before_id, limit)


def mandates_of_agent(
    session: Session,
    agent_id: int,
    statuses: Sequence[str] | None,
    before_id: int | None,
    limit: int,
) -> list[Mandate]:
    """Mandates naming the agent, and drafts that it proposed."""
    return _page(session, "agent", agent_id, statuses, before_id, limit)


def spending_mandates_of_agent(session: Session, agent_id: int, since: datetime) -> list[Mandate]:
    """Mandates that name the agent and in whose ledger something was bought or moved from `since`
    on (inclusive).
    """
    has_spent = exists().where(
        MandateEvent.mandate_id == Mandate.id,
        MandateEvent.occurred_at >= since,
        MandateEvent.kind.in_([RowKind.MOVE.value, RowKind.BUY.value]),
    )
    return list(session.scalars(select(Mandate).where(Mandate.agent_id == agent_id, has_spent)))


@dataclass(frozen=True, slots=True)
class NamedMandate:
    """What a list of an agent's mandates needs of one that names it."""

    id: int
    public_id: str
    status: str
    market_mode: str


def held_by_agent(session: Session, agent_id: int, active: int, closed: int) -> list[NamedMandate]:
    """Mandates that name the agent, the newest first: at most `active` of the signed and working
    ones, and of the stopped and settled at most `closed`, those that ended last.
    """
    rows = session.execute(_HELD, {"agent_id": agent_id, "active": active, "closed": closed}).all()
    found = [NamedMandate(*row) for row in rows]
    return sorted(found, key=lambda mandate: mandate.id, reverse=True)


def _named(
    statuses: Iterable[Status], most: str, *order: ColumnElement[Any]
) -> Select[int, str, str, str]:
    query = select(Mandate.id, Mandate.public_id, Mandate.status, Mandate.market_mode).where(
        Mandate.agent_id == bindparam("agent_id", type_=BigInteger),
        Mandate.status == any_(literal([status.value for status in statuses], ARRAY(Text))),
    )
    return query.order_by(*order).limit(bindparam(most, type_=BigInteger))


_HELD: Final = union_all(
    _named(ACTIVE, "active", Mandate.id.desc()),
    _named(CLOSED, "closed", Mandate.ended_at.desc(), Mandate.id.desc()),
)


def offers_of_agent(
    session: Session, agent_id: int, now: datetime, before_id: int | None, limit: int
) -> list[Mandate]:
    """Signed or working mandates that name the agent, that it has not accepted and that end after
    `now`.
    """
    return _page(session, "offers", agent_id, ACTIVE, before_id, limit, now)


def open_board(session: Session, now: datetime, before_id: int | None, limit: int) -> list[Mandate]:
    """Signed or working mandates that any agent may accept and that end after `now`."""
    return _page(session, "board", None, None, before_id, limit, now)


# What the chain said


def replaced_among(session: Session, digests: Iterable[str]) -> set[str]:
    """Those of the digests that are of terms which a draft no longer has."""
    wanted = [bytes_of(digest) for digest in digests]
    query = select(ReplacedTerms.digest).where(ReplacedTerms.digest.in_(wanted))
    return {hex_of(digest) for digest in session.scalars(query)} if wanted else set()


def mandates_with_digests(session: Session, digests: Iterable[str]) -> dict[str, tuple[str, int]]:
    """terms digest -> (public_id, mandate id) of the mandates that this service issued."""
    wanted = [bytes_of(digest) for digest in digests]
    query = select(Mandate.terms_digest, Mandate.public_id, Mandate.id).where(
        Mandate.terms_digest.in_(wanted)
    )
    return (
        {
            hex_of(digest): (public_id, mandate_id)
            for digest, public_id, mandate_id in session.execute(query)
        }
        if wanted
        else {}
    )


def owners_of(session: Session, mandate_ids: Iterable[int]) -> list[int]:
    """The accounts that own these mandates, each once."""
    mine = Mandate.id == any_(cast(list(mandate_ids), ARRAY(BigInteger)))
    return list(
        session.scalars(select(Mandate.owner_id).where(mine).distinct().order_by(Mandate.owner_id))
    )


def names_of(session: Session, mandate_ids: Collection[int]) -> list[tuple[int, str]]:
    """(owner's account, public id) of these mandates."""
    mine = Mandate.id == any_(cast(list(mandate_ids), ARRAY(BigInteger)))
    return [
        (row.owner_id, row.public_id)
        for row in session.execute(select(Mandate.owner_id, Mandate.public_id).where(mine))
    ]


def public_ids_of(session: Session, mandate_ids: Collection[int]) -> dict[int, str]:
    """By mandate the id that its owner knows; of none without asking."""
    if not mandate_ids:
        return {}
    return {
        row.id: row.public_id
        for row in session.execute(
            select(Mandate.id, Mandate.public_id).where(Mandate.id.in_(mandate_ids))
        )
    }


def ledger_name(session: Session, ledger: str, ledger_id: int) -> str:
    """As a person names a ledger to `retry --ledger`: a mandate's public id, or account:ID."""
    return (
        public_ids_of(session, {ledger_id}).get(ledger_id, str(ledger_id))
        if ledger == "mandate"
        else f"{ledger}:{ledger_id}"
    )


def is_agent_of_vault(session: Session, chain_id: int, vault: bytes, account_id: int) -> bool:
    """Whether a mandate with this vault names the agent."""
    named = exists().where(
        Mandate.chain_id == chain_id, Mandate.vault_address == vault, Mandate.agent_id == account_id
    )
    return bool(session.scalar(select(named)))
