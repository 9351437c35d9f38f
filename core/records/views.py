"""Everything that the strips of some agents are made of, in a number of statements that does not
grow with them.
"""

from collections.abc import Collection, Mapping

from sqlalchemy.orm import Session

from core.hall import queries as hall
from core.identity.names import names_of_agents
from core.mandate import agent_records
from core.mandate.rules.conduct import Conduct
from core.records.rules import (
    ENDED_SHOWN,
    REFUSALS_SHOWN,
    HallStanding,
    StripFacts,
)


def strip_facts(session: Session, agent_ids: Collection[int]) -> dict[int, StripFacts]:
    """By agent, of those that there are."""
    names = names_of_agents(session, agent_ids)
    conduct = agent_records.conduct_of(session, names.keys())
    ended = agent_records.ended_of(session, names.keys(), ENDED_SHOWN)
    refusals = agent_records.confirmed_refusals_of(session, names.keys(), REFUSALS_SHOWN)
    standings = hall_standings(session, names.keys())
    return {
        agent_id: StripFacts(
            agent_id=agent_id,
            name=name.name,
            is_simulated=name.is_simulated,
            conduct=conduct.get(agent_id, Conduct()),
            ended=ended.get(agent_id, ()),
            refusals=refusals.get(agent_id, ()),
            hall=None if standings is None else standings.get(agent_id, HallStanding()),
        )
        for agent_id, name in names.items()
    }


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
