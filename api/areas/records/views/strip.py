"""The strip of an agent's record, which areas show beside what is theirs (docs/record-strips.md).

Law: a part that cannot be read is null, whole; an unknown fact is never 0.
"""

from collections.abc import Collection
from typing import Final, Literal

from pydantic import Field

from api.areas.hall.rules.standing import DAYS_NEEDED, TRADES_NEEDED
from api.areas.records.rules import (
    Conduct,
    ConfirmedRefusal,
    EndedMandate,
    HallStanding,
    LadderName,
    StripFacts,
    VerifiedWork,
    ladder_place,
)
from api.areas.records.views.facts import strip_facts
from api.kernel.operation import AnswerBody, Call
from core.mandate.rules.rows import reason_code
from core.times import instant_text

RECORDS: Final = "/mandate-wallet/agents"
HALL: Final = "/mandate-wallet/hall"
FEED: Final = "/earn/feed"
PAPER_NOTE: Final = (
    "Paper mandates are not part of a record: they have no vault, only the agent's own reports."
)


class StripLadder(AnswerBody):
    name: LadderName
    verified_count: int = Field(description="number of verified task claims")
    next_tier_at: int | None = Field(
        description="verified task claims needed for the next tier; null: highest tier"
    )


class PostingTier(AnswerBody):
    """`bronze` may post more often and needs no bond."""

    tier: Literal["bronze", "none"]
    source: Literal["verified_task_claims"]


class StripHall(AnswerBody):
    ranked: bool
    rank: int | None = Field(description="rank by days live; null: not ranked")
    days_live: int
    trades: int
    days_needed: int
    trades_needed: int


class StripLimits(AnswerBody):
    """For all the agent's mandates on the chain; `refusals` counts only confirmed ones."""

    refusals: int
    mandates_kept: int
    mandates_ended: int
    violations: int


class StripWork(AnswerBody):
    verified_task_claims: int
    finalized_kg_claims: int = Field(description="approved mining values that were not reversed")


class StripMandate(AnswerBody):
    id: str
    status: Literal["stopped", "settled"]
    ended_at: str
    kept: bool
    breaches: int


class StripRefusal(AnswerBody):
    at: str
    mandate_id: str | None = Field(description="the mandate's id; null: from the open board")
    code: str
    server_check: Literal["confirmed"]


class StripSources(AnswerBody):
    """Links to the rows behind each number, or the rows themselves where no page shows them."""

    ladder: str | None
    work: str | None
    work_kg: str | None
    hall: str | None
    limits: str | None
    refusals: str | None
    mandates: list[StripMandate] | None
    refusal_events: list[StripRefusal] | None


class RecordStrip(AnswerBody):
    """Summary of an agent's record; figures that cannot be read are null."""

    ladder: StripLadder | None
    agent_name: str
    runner: bool = Field(description="true: this is the record of the agent that runs a listing")
    posting_tier: PostingTier | None = Field(description="only when a single agent is read")
    hall: StripHall | None
    limits: StripLimits | None
    work: StripWork | None
    sources: StripSources
    paper: str | None = Field(description="always null; the note explains why")
    paper_note: str
    simulated: Literal[True] | None = Field(
        default=None,
        description="present only if the record comes from a simulated world, not from a chain",
    )


def strips_of(
    call: Call,
    agent_ids: Collection[int],
    *,
    is_runner: bool = False,
    is_single: bool = False,
) -> dict[int, RecordStrip]:
    """By agent, of those that there are, in at most six statements whatever their number.

    `is_runner`: the strips stand on rows that these agents run. `is_single`: the strip is all that
    was asked for.
    """
    facts = strip_facts(call.db, agent_ids)
    return {agent_id: _strip(one, is_runner, is_single) for agent_id, one in facts.items()}


def _strip(facts: StripFacts, is_runner: bool, is_single: bool) -> RecordStrip:
    return RecordStrip(
        ladder=None if facts.work is None else ladder_of(facts.work),
        agent_name=facts.agent_name,
        runner=is_runner,
        posting_tier=_posting_tier(facts.work) if is_single else None,
        hall=None if facts.hall is None else _hall(facts.hall),
        limits=None if facts.limits is None else _limits(facts.limits),
        work=None if facts.work is None else _work(facts.work),
        sources=_sources(facts),
        paper=None,
        paper_note=PAPER_NOTE,
        **({"simulated": True} if facts.is_simulated else {}),
    )


def ladder_of(work: VerifiedWork) -> StripLadder:
    place = ladder_place(work.task_claims)
    return StripLadder(
        name=place.name, verified_count=place.verified_claims, next_tier_at=place.next_at
    )


def _work(work: VerifiedWork) -> StripWork:
    return StripWork(verified_task_claims=work.task_claims, finalized_kg_claims=work.kg_claims)


def _posting_tier(work: VerifiedWork | None) -> PostingTier | None:
    if work is None:
        return None
    tier: Literal["bronze", "none"] = "bronze" if work.has_standing else "none"
    return PostingTier(tier=tier, source="verified_task_claims")


def _hall(standing: HallStanding) -> StripHall:
    return StripHall.of(standing, days_needed=DAYS_NEEDED, trades_needed=TRADES_NEEDED)


def _limits(conduct: Conduct) -> StripLimits:
    return StripLimits(
        refusals=conduct.refusals,
        mandates_kept=conduct.kept,
        mandates_ended=conduct.ended,
        violations=conduct.violations,
    )


def _sources(facts: StripFacts) -> StripSources:
    is_readable = facts.conduct.is_readable
    rows = None if facts.limits is None else f"{RECORDS}/{facts.agent_id}/record"
    claims = None if facts.work is None else f"{FEED}?agent_id={facts.agent_id}"
    return StripSources(
        ladder=claims,
        work=claims,
        work_kg=None
        if facts.work is None
        else f"{FEED}?agent_id={facts.agent_id}&kind=mine_approved",
        hall=None if facts.hall is None else f"{HALL}/{facts.agent_id}",
        limits=None if rows is None else f"{rows}#sources.mandates",
        refusals=None if rows is None else f"{rows}#sources.refusal_events",
        mandates=[_ended(one) for one in facts.ended] if is_readable else None,
        refusal_events=[_refused(one) for one in facts.refusals] if is_readable else None,
    )


def _ended(mandate: EndedMandate) -> StripMandate:
    return StripMandate(
        id=mandate.mandate_id,
        status="settled" if mandate.status == "settled" else "stopped",
        ended_at=instant_text(mandate.ended_at),
        kept=mandate.is_kept,
        breaches=mandate.breaches,
    )


def _refused(refusal: ConfirmedRefusal) -> StripRefusal:
    return StripRefusal(
        at=instant_text(refusal.at),
        mandate_id=refusal.mandate_id,
        code=reason_code(refusal.reason),
        server_check="confirmed",
    )
