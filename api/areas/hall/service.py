"""Reads of the Hall's snapshot (docs/hall.md)."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from api.areas.hall import queries
from api.areas.hall.rules.shown import SORTS, record_to_json
from api.areas.hall.rules.standing import DAYS_NEEDED, TRADES_NEEDED, AgentRecord, Window
from api.areas.hall.rules.sums import WINDOWS
from api.areas.hall.schemas import (
    BuildProgress,
    CurvePoint,
    Hall,
    HallDelegators,
    HallPolicyChange,
    HallProfile,
    HallQuery,
    HallRow,
    HallSelfReported,
    HallWindow,
    HallWindows,
    HouseBook,
    ProfileQuery,
    ProofMandate,
    RankRequirements,
)
from api.areas.hall.views import sources
from api.areas.hall.views.records import curve_of, groups_of
from api.areas.hall.views.sources import ShownAgent
from api.areas.records.views.strip import strips_of
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, ReadCall, Refusal
from api.kernel.pagination import page_of
from core.house import House
from core.identity import policies
from core.money import usdc_text
from core.times import instant_text

STALE_AFTER: Final = timedelta(minutes=10)
CHANGES_SHOWN, PROOF_MOST, CURVE_MOST = 10, 200, 366
ROWS_KEPT: Final = 1_000  # some 10 MB
NO_STAKE: Final = "Nobody stakes on an agent here: no contract takes an operator's stake."
SAID_NOTE: Final = "Reported by the agent, paper trading included; nothing on chain confirms it."
HOUSE_BOOK: Final = "House book"
NEVER: Final = record_to_json(
    AgentRecord(
        windows={
            name: Window(net_usdc_e6=0, twr_bps=None, max_drawdown_bps=None, trades=0)
            for name in WINDOWS
        }
    )
)


def browse(call: ReadCall, caller: Nobody, command: HallQuery) -> Answer[Hall]:
    """A page of the list."""
    page = page_of(call, "hall.list", command)
    sort = None
    if command.sort != "days_live":
        sort = SORTS.index(f"{command.sort}.{command.window}")
    found, computed_at = sources.listed_agents(
        call.db, sort=sort, accepting=command.accepting, before=page.before, limit=page.limit + 1
    )
    shown, next_cursor = page.cut(found, lambda agent: agent.agent_id)
    house = call.deps.parts.of(House)
    build = _build(call, computed_at)
    return Answer(
        Hall(
            agents=[_row(agent, house.is_house(agent.agent_id)) for agent in shown],
            house_book=_house_book(call) if page.before is None else None,
            next_cursor=next_cursor,
            progress=_progress(call) if build["stale"] else None,
            **build,
        )
    )


def profile(call: ReadCall, caller: Nobody, command: ProfileQuery) -> Answer[HallProfile]:
    """One agent, listed or not.

    Errors: Refusal not_found; not before the first build.
    """
    agent_id, computed_at = int(command.agent_id), queries.computed_at(call.db)
    if computed_at is None:
        empty = HallProfile(
            agent=None,
            record=None,
            policy_changelog=[],
            proof=None,
            curve=None,
            **_build(call, None),
        )
        return Answer(empty)
    agent = sources.shown_agent(call.db, agent_id)
    if agent is None:
        raise Refusal(
            "not_found",
            f"The Hall has no agent {agent_id}; one that has just registered is there after the "
            "next build, within about two minutes.",
            next_calls=("hall.list",),
        )
    return Answer(
        HallProfile(
            agent=_row(agent, call.deps.parts.of(House).is_house(agent_id)),
            record=strips_of(call, [agent_id]).get(agent_id),
            policy_changelog=[
                HallPolicyChange(at=instant_text(one.at), changes=one.changes)
                for one in policies.newest_changes(call.db, agent_id, CHANGES_SHOWN)
            ],
            proof=_proof(call, agent_id) if command.proof else None,
            curve=_curve(call, agent_id) if command.curve else None,
            **_build(call, computed_at),
        )
    )


def _build(call: ReadCall, computed_at: datetime | None) -> dict[str, Any]:
    return {
        "computed_at": None if computed_at is None else instant_text(computed_at),
        "stale": computed_at is None or call.now - computed_at > STALE_AFTER,
        "pending": computed_at is None,
    }


def _progress(call: ReadCall) -> BuildProgress:
    counted, ledgers = sources.counted_ledgers(call.db)
    left = queries.count_due(call.db)
    return BuildProgress(ledgers=ledgers, counted=counted, agents_left=left)


def _house_book(call: ReadCall) -> HouseBook | None:
    runner_id = call.deps.parts.of(House).book_runner
    if runner_id is None:
        return None
    record = strips_of(call, [runner_id], is_runner=True).get(runner_id)
    return HouseBook(name=HOUSE_BOOK, agent_id=str(runner_id), record=record)


def _proof(call: ReadCall, agent_id: int) -> list[ProofMandate]:
    [group] = groups_of(call.db, [agent_id])
    accounts = [one.agent_id for one in group.accounts]
    return [
        ProofMandate(
            mandate_id=one.public_id,
            seq=one.seq,
            row_hash="0x" + one.row_hash.hex(),
            net_usdc=usdc_text(one.net_usdc_e6),
            trades=one.trades,
        )
        for one in sources.counted_mandates(call.db, accounts, PROOF_MOST)
    ]


def _curve(call: ReadCall, agent_id: int) -> list[CurvePoint] | None:
    found = curve_of(call.db, agent_id, CURVE_MOST)
    if found is None:
        return None
    return [CurvePoint(day=day.isoformat(), twr_bps=twr_bps) for day, twr_bps in found]


@lru_cache(ROWS_KEPT)
def _row(agent: ShownAgent, is_house: bool) -> HallRow:
    """Of equal rows the same one, which nobody changes: most are read many times between two
    builds.
    """
    record = NEVER if agent.record is None else json.loads(agent.record)
    return HallRow.of(
        agent,
        agent_id=str(agent.agent_id),
        name=agent.name or f"agent-{agent.agent_id}",
        trades_total=agent.trades,
        unranked_reason=record["unranked_reason"],
        rank_requirements=None if agent.ranked else _requirements(agent),
        address_ready=agent.has_wallet,
        house=is_house,
        as_of=None if agent.as_of is None else instant_text(agent.as_of),
        windows=_windows(record["windows"]),
        delegators=HallDelegators(**record["delegators"]),
        mandates_total=record["mandates_total"],
        floor_stops=record["floor_stops"],
        self_stops=record["self_stops"],
        violations=record["violations"],
        operator_stake_usdc=None,
        operator_stake_reason=NO_STAKE,
        self_reported=HallSelfReported(**record["self_reported"], note=SAID_NOTE),
        **{"simulated": True} if agent.is_simulated else {},
    )


def _requirements(agent: ShownAgent) -> RankRequirements:
    return RankRequirements(
        days_live=agent.days_live,
        days_needed=DAYS_NEEDED,
        trades=agent.trades,
        trades_needed=TRADES_NEEDED,
    )


def _windows(windows: Mapping[str, Any]) -> HallWindows:
    known = {name: None if one is None else HallWindow(**one) for name, one in windows.items()}
    return HallWindows(d7=known["7d"], d30=known["30d"], d90=known["90d"], since=known["since"])
