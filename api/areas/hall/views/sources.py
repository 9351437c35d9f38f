"""What the Hall is made from, and what it shows: ledgers beside its own tables, agents beside their
policies.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Integer,
    Numeric,
    Row,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    true,
)
from sqlalchemy.orm import Session, aliased

from api.areas.hall import queries
from api.areas.hall.rules.days import DayTerms
from api.areas.hall.tables import HallAgent, HallBuild, HallDay, HallMandate, figure_of
from core.db.arrays import table_of
from core.hexes import hex_of
from core.identity.names import SIMULATED
from core.identity.tables import Account, AgentPolicy
from core.mandate.rows import mandate_facts, standing
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.terms import agent_fee_bps
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from core.quarantine.queries import MANDATE, is_held

# Rows that move money or report a mark, and what agents report of trades, results and fees.
OF_THE_HALL: Final = text(
    "(kind in ('move', 'buy', 'sell', 'resolve', 'deposit', 'withdraw', 'payout', 'stop', 'fee') or "
    "(kind = 'note' and reported_by <> 'agent' and jsonb_exists_any(payload, array['mark', "
    "'unwound', 'proceeds'])))"
)


@dataclass(frozen=True, slots=True)
class GrownMandate:
    """A mandate whose ledger has rows that the Hall has not counted.

    `head_seq`: its last row; `seq`: the last one that is counted. `is_reversed`: a row was reversed
    since reversals were looked for.
    """

    mandate: Mandate
    head_seq: int
    violations: int
    seq: int
    standing: Mapping[str, Any] | None
    is_reversed: bool

    @property
    def is_paper(self) -> bool:
        return self.mandate.market_mode == MarketMode.PAPER


def grown_among(session: Session, mandate_ids: Collection[int] | None) -> list[int]:
    """The mandates of agents, of these or of all (None), whose ledgers have grown."""
    query = (
        select(Mandate.id)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .outerjoin(HallMandate, HallMandate.mandate_id == Mandate.id)
        .where(Mandate.agent_id.is_not(None), Mandate.signed_at.is_not(None))
        .where(
            or_(
                HallMandate.mandate_id.is_(None),
                HallMandate.head_seq != MandateHead.seq,
                HallMandate.seq != HallMandate.head_seq,  # a build was cut short
            )
        )
    )
    if mandate_ids is not None:
        asked = table_of("asked", {"mandate_id": (BigInteger, [*mandate_ids])})
        query = query.join(asked, asked.c.mandate_id == Mandate.id)
    return sorted(session.scalars(query))


def grown(session: Session, mandate_ids: Collection[int]) -> list[GrownMandate]:
    """These mandates, and how far each is counted."""
    asked = table_of("asked", {"mandate_id": (BigInteger, [*mandate_ids])})
    reversal = aliased(MandateEvent)
    is_reversed = exists().where(
        reversal.mandate_id == Mandate.id,
        reversal.seq > HallMandate.head_seq,
        reversal.reverses_id.is_not(None),
    )
    violations = MandateHead.state["violations_count"].astext.cast(Integer)
    query = (
        select(
            Mandate,
            MandateHead.seq,
            func.coalesce(violations, 0),
            func.coalesce(HallMandate.seq, 0),
            HallMandate.standing,
            is_reversed,
        )
        .join(asked, asked.c.mandate_id == Mandate.id)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .outerjoin(HallMandate, HallMandate.mandate_id == Mandate.id)
        .order_by(Mandate.id)
    )
    return [GrownMandate(*row) for row in session.execute(query)]


def counted_ledgers(session: Session) -> tuple[int, int]:
    """How many ledgers of agents' mandates are counted to their ends, and how many there are."""
    is_counted = HallMandate.seq == MandateHead.seq
    query = (
        select(func.count().filter(is_counted), func.count())
        .select_from(Mandate)
        .join(MandateHead, MandateHead.mandate_id == Mandate.id)
        .outerjoin(HallMandate, HallMandate.mandate_id == Mandate.id)
        .where(Mandate.agent_id.is_not(None), Mandate.signed_at.is_not(None))
    )
    counted, ledgers = session.execute(query).one()
    return counted, ledgers


def terms_of(mandate: Mandate) -> DayTerms:
    """Errors: whatever terms that nobody can read raise."""
    facts = mandate_facts(mandate)
    fee_bps = agent_fee_bps(mandate.payout_rule)
    if mandate.ends_at is None:
        raise ValueError("the terms have no end")
    return DayTerms(facts.budget_usdc_e6, fee_bps, facts.positions, mandate.ends_at)


def wallet_of(mandate: Mandate) -> bytes | None:
    """The agent's, of the terms; None: they name none."""
    digits = str(mandate.terms.get("agent", "")).removeprefix("0x")
    wallet = bytes.fromhex(digits)
    return wallet if any(wallet) else None


def rows_after(
    session: Session, seqs: Mapping[int, tuple[int, int]]
) -> Iterator[tuple[int, NewRow]]:
    """(mandate id, row) of the rows that count, by mandate and in the order of its ledger: of
    each mandate those after the first seq, up to the second (inclusive).

    Each ledger is read by its own index scan. All are read here; values are made as they are taken.
    """
    bounds = [*seqs.values()]
    asked = table_of(
        "asked",
        {
            "mandate_id": (BigInteger, [*seqs]),
            "after": (BigInteger, [after for after, _ in bounds]),
            "until": (BigInteger, [until for _, until in bounds]),
        },
    )
    event = MandateEvent.__table__
    counted = (
        select(*(event.c[name] for name in _OF_A_ROW))
        .where(event.c.mandate_id == asked.c.mandate_id, OF_THE_HALL, standing())
        .where(event.c.seq > asked.c.after, event.c.seq <= asked.c.until)
        .order_by(event.c.seq)
        .lateral("counted")
    )
    query = select(counted).select_from(asked).order_by(counted.c.mandate_id, counted.c.seq)
    return map(_new_row, session.execute(query).all())


def _new_row(row: Any) -> tuple[int, NewRow]:
    mandate_id, _, kind, by, at, amount, delta, tx_hash, block_hash, payload = row
    return mandate_id, NewRow(
        kind=_KINDS[kind],
        reported_by=_REPORTERS[by],
        occurred_at=at,
        base_key="",
        amount_usdc_e6=amount,
        cash_delta_usdc_e6=delta,
        tx_hash=None if tx_hash is None else hex_of(tx_hash),
        block_hash=None if block_hash is None else hex_of(block_hash),
        payload=payload,
    )


# What days are made of, and no more: there may be a million rows.
_OF_A_ROW: Final = (
    "mandate_id",
    "seq",
    "kind",
    "reported_by",
    "occurred_at",
    "amount_usdc_e6",
    "cash_delta_usdc_e6",
    "tx_hash",
    "block_hash",
    "payload",
)
_KINDS: Final = {kind.value: kind for kind in RowKind}
_REPORTERS: Final = {by.value: by for by in ReportedBy}


def newest_event(session: Session) -> int:
    return session.scalar(select(func.max(MandateEvent.id))) or 0


def newest_account(session: Session) -> int:
    return session.scalar(select(func.max(Account.id))) or 0


def written_after(session: Session, event_id: int) -> list[int]:
    """The mandates with a row of a later id."""
    query = select(MandateEvent.mandate_id).where(MandateEvent.id > event_id)
    return sorted(session.scalars(query.distinct()))


def held_otherwise(session: Session) -> list[int]:
    """Mandates of the Hall that lack facts and were not known to, or the other way round."""
    held = is_held(MANDATE, HallMandate.mandate_id)
    return list(session.scalars(select(HallMandate.mandate_id).where(held != HallMandate.is_held)))


# Records


@dataclass(frozen=True, slots=True)
class MandateLife:
    """A mandate of the Hall, and what its own row says. `seq`: its last row that is counted;
    `standing`: as it is kept.
    """

    mandate_id: int
    agent_id: int
    owner_id: int
    seq: int
    wallet: bytes | None
    is_paper: bool
    is_readable: bool
    standing: Mapping[str, Any]
    violations: int
    is_working: bool
    ends_at: datetime | None

    @property
    def is_funded(self) -> bool:
        """Whether it ever held its whole budget, on the chain."""
        return not self.is_paper and self.standing.get("funded_on") is not None


def lives_of(session: Session, agent_ids: Collection[int]) -> list[MandateLife]:
    """The mandates that the Hall has of these accounts."""
    asked = table_of("asked", {"agent_id": (BigInteger, [*agent_ids])})
    query = (
        select(
            HallMandate.mandate_id,
            HallMandate.agent_id,
            HallMandate.owner_id,
            HallMandate.seq,
            HallMandate.wallet,
            HallMandate.is_paper,
            ~HallMandate.is_held & HallMandate.trouble.is_(None),
            HallMandate.standing,
            HallMandate.violations,
            Mandate.status == Status.WORKING,
            Mandate.ends_at,
        )
        .join(asked, asked.c.agent_id == HallMandate.agent_id)
        .join(Mandate, Mandate.id == HallMandate.mandate_id)
        .order_by(HallMandate.mandate_id)
    )
    return [MandateLife(*row) for row in session.execute(query).all()]


@dataclass(frozen=True, slots=True)
class AgentAccount:
    """`wallet` None: none is linked. `wallet_since`: when it was."""

    agent_id: int
    owner_id: int | None
    wallet: bytes | None
    wallet_since: datetime | None


def accounts_of(session: Session, agent_ids: Collection[int]) -> list[AgentAccount]:
    asked = table_of("asked", {"agent_id": (BigInteger, [*agent_ids])})
    query = select(
        Account.id, Account.owner_id, Account.wallet_address, Account.wallet_linked_at
    ).join(asked, asked.c.agent_id == Account.id)
    return [AgentAccount(*row) for row in session.execute(query)]


def with_wallets(session: Session, wallets: Collection[bytes]) -> set[int]:
    """The agents that have one of these wallets now, or had it in a mandate."""
    found = set(
        session.scalars(select(HallMandate.agent_id).where(HallMandate.wallet.in_(wallets)))
    )
    holders = select(Account.id).where(Account.wallet_address.in_(wallets), Account.kind == "agent")
    return found | set(session.scalars(holders))


def linked_since(session: Session, at: datetime) -> list[int]:
    """Agents whose wallet was linked since (inclusive)."""
    query = select(Account.id).where(Account.wallet_linked_at >= at, Account.kind == "agent")
    return list(session.scalars(query))


def new_agents(session: Session, after_id: int) -> list[int]:
    """Agents of a later id that the Hall has no row of."""
    query = (
        select(Account.id)
        .outerjoin(HallAgent, HallAgent.agent_id == Account.id)
        .where(Account.kind == "agent", Account.id > after_id, HallAgent.agent_id.is_(None))
    )
    return sorted(session.scalars(query))


# What is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAgent:
    """A row of the Hall and what its account says now; as in HallAgent, whose `sorts` are left
    behind. `record`: JSON text as it is kept, so that equal rows are equal values.
    """

    agent_id: int
    ranked: bool
    rank: int | None
    days_live: int
    trades: int
    record: str | None
    as_of: datetime | None
    name: str
    is_simulated: bool
    accepts_mandates: bool
    has_wallet: bool


def shown_agent(session: Session, agent_id: int) -> ShownAgent | None:
    found = session.execute(_shown().where(HallAgent.agent_id == agent_id)).one_or_none()
    return None if found is None else _agent(found)


def listed_agents(
    session: Session, *, sort: int | None, accepting: bool, before: int | None, limit: int
) -> tuple[list[ShownAgent], datetime | None]:
    """A page: ranked agents first, by days live or by the figure `sort` (its place in `sorts`), the
    highest first; equal ones by id. And when the Hall was built. `before`: the last agent of the
    page before (exclusive).
    """
    query = _page(sort, accepting, before is not None)
    found = session.execute(query, {"before": before, "most": limit}).all()
    computed_at = found[0].computed_at if found else queries.computed_at(session)
    return [_agent(row) for row in found], computed_at


@lru_cache  # to write the statement takes longer than to run it
def _page(sort: int | None, accepting: bool, has_before: bool) -> Any:
    by = _figure(HallAgent.__tablename__, sort)
    built = select(HallBuild.computed_at).scalar_subquery()
    query = _shown().add_columns(built.label("computed_at")).where(HallAgent.is_listed)
    if accepting:
        query = query.where(AgentPolicy.accepts_mandates)
    if has_before:
        last = aliased(HallAgent, name="last_shown")
        of_last = _figure("last_shown", sort)
        is_equal = HallAgent.ranked == last.ranked
        query = query.join(last, last.agent_id == bindparam("before", type_=BigInteger)).where(
            or_(
                HallAgent.ranked < last.ranked,
                and_(is_equal, by < of_last),
                and_(is_equal, by == of_last, HallAgent.agent_id > last.agent_id),
            )
        )
    query = query.order_by(HallAgent.ranked.desc(), by.desc(), HallAgent.agent_id)
    return query.limit(bindparam("most", type_=Integer))


def _figure(table: str, sort: int | None) -> ColumnElement[Any]:
    """In the words of the index, without parameters."""
    if sort is None:
        return literal_column(f"{table}.days_live", Integer)
    return literal_column(figure_of(f"{table}.sorts", sort), Numeric)


def _shown() -> Any:
    return (
        select(
            HallAgent.agent_id,
            HallAgent.ranked,
            HallAgent.rank,
            HallAgent.days_live,
            HallAgent.trades,
            cast(HallAgent.record, Text).label("record"),
            HallAgent.as_of,
            Account.name,
            Account.registered_from.is_not_distinct_from(SIMULATED).label("is_simulated"),
            Account.wallet_address.is_not(None).label("has_wallet"),
            func.coalesce(AgentPolicy.accepts_mandates, False).label("accepts_mandates"),
        )
        .join(Account, Account.id == HallAgent.agent_id)
        .outerjoin(AgentPolicy, AgentPolicy.agent_id == HallAgent.agent_id)
    )


def _agent(row: Row[Any]) -> ShownAgent:
    return ShownAgent(**{name: getattr(row, name) for name in ShownAgent.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedMandate:
    """A mandate as far as it is counted; `row_hash` of its row `seq`."""

    public_id: str
    seq: int
    row_hash: bytes
    net_usdc_e6: int
    trades: int


def counted_mandates(
    session: Session, agent_ids: Collection[int], most: int
) -> list[CountedMandate]:
    """The mandates on the chain that went into the figures of these accounts, newest first."""
    asked = table_of("asked", {"agent_id": (BigInteger, [*agent_ids])})
    newest = (
        select(
            HallMandate.mandate_id,
            HallMandate.seq,
            HallMandate.standing["out_usdc_e6"].astext.cast(Numeric).label("out"),
        )
        .join(asked, asked.c.agent_id == HallMandate.agent_id)
        .where(HallMandate.is_paper.is_(False), HallMandate.trouble.is_(None))
        .order_by(HallMandate.mandate_id.desc())
        .limit(most)
        .subquery()
    )
    last = and_(MandateEvent.mandate_id == newest.c.mandate_id, MandateEvent.seq == newest.c.seq)
    made = (
        select(
            func.coalesce(
                func.sum(HallDay.result_usdc_e6 - HallDay.washed_result_usdc_e6), 0
            ).label("net"),
            func.coalesce(func.sum(HallDay.trades - HallDay.washed_trades), 0).label("trades"),
        )
        .where(HallDay.mandate_id == newest.c.mandate_id)
        .lateral("made")
    )
    query = (
        select(Mandate.public_id, newest.c.seq, newest.c.out, MandateEvent.row_hash, made)
        .select_from(newest)
        .join(Mandate, Mandate.id == newest.c.mandate_id)
        .join(MandateEvent, last)
        .join(made, true())
        .order_by(newest.c.mandate_id.desc())
    )
    return [
        CountedMandate(
            public_id=row.public_id,
            seq=row.seq,
            row_hash=row.row_hash,
            net_usdc_e6=int(row.net - row.out),
            trades=row.trades,
        )
        for row in session.execute(query)
    ]
