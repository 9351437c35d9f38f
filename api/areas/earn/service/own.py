"""One's own earnings and payouts (docs/payouts.md#your-payouts)."""

from api.areas.earn.rules.points import STANDING_CLAIMS, points_text
from api.areas.earn.schemas import (
    AgentEarned,
    Earned,
    OwnEarnings,
    OwnPayout,
    OwnPayouts,
    PayoutsQuery,
    PayoutStatus,
)
from api.areas.earn.service.access import agents_of
from api.areas.earn.views import payouts as earn_payouts
from api.areas.earn.views import standing
from api.areas.earn.views.limits import payout_limits
from api.areas.earn.views.payouts import Earnings, Payout, Waiting
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, NoInput, ReadCall
from api.kernel.pagination import page_of
from core.credits.ledger import writer as credit_ledger

NOTHING_WAITS = Waiting(None, None, None)


def earnings(
    call: ReadCall, caller: AgentCaller | OwnerCaller, command: NoInput
) -> Answer[OwnEarnings]:
    agents = agents_of(call, caller)
    found = earn_payouts.earnings_of(call.db, agents)
    claims = standing.verified_claims(call.db, agents)
    owed = credit_ledger.owed_of(call.db, agents)
    of_groups = earn_payouts.owed_by_groups(call.db, agents)
    return Answer(
        OwnEarnings(
            agents=[
                AgentEarned(
                    agent_id=agent_id,
                    agent_name=name,
                    owed_credit=owed[agent_id],
                    group_owed_credit=of_groups[agent_id],
                    verified_task_claims=claims[agent_id],
                    standing=claims[agent_id] >= STANDING_CLAIMS,
                    points=points_text(found[agent_id].tenths),
                    credits=found[agent_id].credits,
                    queued=found[agent_id].queued,
                    queued_credit=found[agent_id].queued_credits,
                )
                for agent_id, name in agents.items()
            ],
            total=_total(list(found.values())),
        )
    )


def payouts(
    call: ReadCall, caller: AgentCaller | OwnerCaller, command: PayoutsQuery
) -> Answer[OwnPayouts]:
    page = page_of(call, "earn.payouts", command)
    agents = agents_of(call, caller)
    found = earn_payouts.payouts_before(
        call.db, agents, page.before, page.limit + 1, queued_only=command.status == "queued"
    )
    shown, next_cursor = page.cut(found, lambda one: one.award.id)
    limits = payout_limits(call.deps.limits)
    waiting = earn_payouts.waiting_of(call.db, shown, limits, call.now.date())
    repaid = earn_payouts.repaid_of(call.db, [one.award.ref for one in shown])
    rows = [
        _payout(one, waiting.get(one.award.id, NOTHING_WAITS), repaid.get(one.award.ref, 0))
        for one in shown
    ]
    return Answer(OwnPayouts(payouts=rows, next_cursor=next_cursor))


def _total(all_of: list[Earnings]) -> Earned:
    return Earned(
        points=points_text(sum(one.tenths for one in all_of)),
        credits=sum(one.credits for one in all_of),
        queued=sum(one.queued for one in all_of),
        queued_credit=sum(one.queued_credits for one in all_of),
    )


def _payout(one: Payout, waiting: Waiting, repaid_credits: int) -> OwnPayout:
    return OwnPayout.of(
        one.award,
        agent_id=one.award.account_id,
        points=points_text(one.award.tenths),
        paid_credit=one.paid_credits,
        repaid_credit=repaid_credits,
        queued_credit=one.left_credits,
        status=_status(one),
        approved_at=one.award.at,
        place=waiting.place,
        cap=waiting.cap,
        earliest_day=None if waiting.earliest is None else waiting.earliest.isoformat(),
    )


def _status(one: Payout) -> PayoutStatus:
    if one.withdrawn_credits is not None:
        return "reversed"
    if one.cancelled_credits:
        return "cancelled"
    return "queued" if one.left_credits else "paid"
