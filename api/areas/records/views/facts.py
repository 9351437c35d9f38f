"""Everything that the strips of some agents are made of, in a number of statements that does not
grow with them; and what an agent's own pages show of it, in one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, any_, bindparam, exists, func, select
from sqlalchemy.dialects.postgresql import ARRAY, aggregate_order_by
from sqlalchemy.orm import Session

from api.areas.earn.rules.payout import Source
from api.areas.earn.tables import EarnAward, EarnReversal, EarnStanding
from api.areas.hall import queries as hall
from api.areas.records.rules import (
    ENDED_SHOWN,
    REFUSALS_SHOWN,
    Conduct,
    HallStanding,
    StripFacts,
    VerifiedWork,
)
from api.areas.records.views import agent_records
from api.areas.safety.tables import ViolationCase
from core.credits.rules.buckets import BUCKETS, Credits
from core.credits.tables import CreditHead
from core.identity.names import SIMULATED, AgentName
from core.identity.tables import Account
from core.mandate.tables import Mandate
from core.subscriptions.rules import HeldTiers
from core.subscriptions.tables import Subscription


def strip_facts(session: Session, agent_ids: Collection[int]) -> dict[int, StripFacts]:
    """By agent, of those that there are."""
    agents = agents_with_work(session, agent_ids)
    conduct = agent_records.conduct_of(session, agents.keys())
    ended = agent_records.ended_of(session, agents.keys(), ENDED_SHOWN)
    refusals = agent_records.confirmed_refusals_of(session, agents.keys(), REFUSALS_SHOWN)
    standings = hall_standings(session, agents.keys())
    return {
        agent_id: StripFacts(
            agent_id=agent_id,
            name=name.name,
            is_simulated=name.is_simulated,
            conduct=conduct.get(agent_id, Conduct()),
            ended=ended.get(agent_id, ()),
            refusals=refusals.get(agent_id, ()),
            hall=None if standings is None else standings.get(agent_id, HallStanding()),
            work=work,
        )
        for agent_id, (name, work) in agents.items()
    }


def agents_with_work(
    session: Session, agent_ids: Collection[int]
) -> dict[int, tuple[AgentName, VerifiedWork]]:
    """By id, of those of the ids that are agents', in the order of the ids."""
    rows = session.execute(_WITH_WORK, {"agent_ids": list(agent_ids)}).all()
    found = {
        id_: (AgentName(name, registered_from == SIMULATED), VerifiedWork(tasks, claims))
        for id_, name, registered_from, tasks, claims in rows
    }
    return {agent_id: found[agent_id] for agent_id in agent_ids if agent_id in found}


_APPROVED: Final = (
    select(func.count())
    .where(
        EarnAward.account_id == Account.id,
        EarnAward.source == Source.MINING,
        EarnAward.kind == "award",
        ~exists().where(EarnReversal.award_id == EarnAward.id),
    )
    .scalar_subquery()
)
_WITH_WORK: Final = (
    select(
        Account.id,
        Account.name,
        Account.registered_from,
        func.coalesce(EarnStanding.verified_claims, 0),
        _APPROVED,
    )
    .outerjoin(EarnStanding, EarnStanding.account_id == Account.id)
    .where(
        Account.id == any_(bindparam("agent_ids", type_=ARRAY(BigInteger))),
        Account.kind == "agent",
    )
)


def hall_standings(
    session: Session, agent_ids: Collection[int]
) -> Mapping[int, HallStanding] | None:
    """By agent its row of the Hall's snapshot; None: there is no snapshot to read."""
    if hall.build_of(session) is None:
        return None
    return {
        row.agent_id: HallStanding(
            ranked=row.ranked, rank=row.rank, days_live=row.days_live, trades=row.trades
        )
        for row in hall.standings_of(session, agent_ids)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFacts:
    """What an agent's own pages show of it beside its work. `mandates`: how many name it, by status; a
    status without one is left out.
    """

    name: str
    is_owned: bool
    registered_at: datetime
    is_locked: bool
    tiers: HeldTiers
    mandates: Mapping[str, int]
    balance: Credits


def own_facts(session: Session, account_id: int) -> OwnFacts:
    """Of an account that there is. Programs poll it."""
    (name, is_owned, registered_at, is_locked, tier_2_until, until, purchases, mandates, *held) = (
        session.execute(_OWN_FACTS, {"account_id": account_id}).one()
    )
    return OwnFacts(
        name=name,
        is_owned=is_owned,
        registered_at=registered_at,
        is_locked=is_locked,
        tiers=HeldTiers(tier_2_until, until, purchases),
        mandates=mandates or {},
        balance=Credits(**dict(zip(BUCKETS, held, strict=True))),
    )


_BY_STATUS: Final = (
    select(Mandate.status, func.count().label("n"))
    .where(Mandate.agent_id == bindparam("account_id", type_=BigInteger))
    .group_by(Mandate.status)
    .subquery("by_status")
)
_OWN_FACTS: Final = (
    select(
        Account.name,
        Account.owner_id.is_not(None),
        Account.created_at,
        exists().where(ViolationCase.agent_id == Account.id, ViolationCase.closed_at.is_(None)),
        Subscription.tier_2_until,
        Subscription.until,
        func.coalesce(Subscription.purchases, 0),
        select(
            func.json_object_agg(
                _BY_STATUS.c.status, aggregate_order_by(_BY_STATUS.c.n, _BY_STATUS.c.status)
            )
        ).scalar_subquery(),
        *(func.coalesce(getattr(CreditHead, bucket), 0) for bucket in BUCKETS),
    )
    .outerjoin(Subscription, Subscription.account_id == Account.id)
    .outerjoin(CreditHead, CreditHead.account_id == Account.id)
    .where(Account.id == bindparam("account_id", type_=BigInteger))
)
