"""The UTC day: its budget and caps (docs/payouts.md#the-day)."""

from api.areas.earn import queries
from api.areas.earn.rules.payout import CapKind, PayoutLimits, budget_of
from api.areas.earn.schemas import AgentEpoch, CapOfDay, Epoch, InstantPayout, OwnCap, OwnEpoch
from api.areas.earn.service.access import agents_of
from api.areas.earn.views import payouts, people
from api.areas.earn.views.limits import payout_limits
from api.areas.mining.views.stages import review_stages
from api.kernel.caller import Nobody, OwnerCaller
from api.kernel.operation import Answer, NoInput, ReadCall
from core.times import instant_text, next_day


def epoch(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Epoch]:
    limits = payout_limits(call.deps.limits)
    budget = budget_of(limits)
    used = queries.used_on(call.db, call.now.date(), [budget.name, queries.RESTORED])
    queued, queued_credits = queries.totals(call.db)
    return Answer(
        Epoch(
            day=call.now.date().isoformat(),
            resets_at=instant_text(next_day(call.now)),
            day_budget_credit=budget.limit,
            day_budget_left_credit=budget.room(used),
            caps=[CapOfDay(cap=kind, limit_credit=most) for kind, most in _caps(limits)],
            instant_payout=InstantPayout(
                day_budget_used_credit=used.get(budget.name, 0),
                queued=queued,
                queued_credit=queued_credits,
                restored_today_credit=used.get(queries.RESTORED, 0),
            ),
        )
    )


def own_epoch(call: ReadCall, caller: OwnerCaller, command: NoInput) -> Answer[OwnEpoch]:
    limits, today = payout_limits(call.deps.limits), call.now.date()
    budget, agents = budget_of(limits), agents_of(call, caller)
    used = queries.used_on(call.db, today, [budget.name])
    payees = people.payees_of(call.db, agents, limits.shared_funders)
    caps = payouts.caps_today(call.db, payees, limits, today)
    return Answer(
        OwnEpoch(
            day=today.isoformat(),
            resets_at=instant_text(next_day(call.now)),
            day_budget_left_credit=budget.room(used),
            agents=[
                AgentEpoch(
                    agent_id=agent_id,
                    agent_name=name,
                    standing=payees[agent_id].has_standing,
                    caps=[
                        OwnCap(cap=cap.kind, limit_credit=cap.limit, left_today_credit=left)
                        for cap, left in caps[agent_id]
                    ],
                )
                for agent_id, name in agents.items()
            ],
            review_stages=review_stages(call.db, agents),
        )
    )


def _caps(limits: PayoutLimits) -> tuple[tuple[CapKind, int], ...]:
    return (
        (CapKind.DAY_BUDGET, limits.day_budget),
        (CapKind.PERSON, limits.person),
        (CapKind.NETWORK_ADDRESS, limits.person),
        (CapKind.FUNDING_WALLET, limits.person),
        (CapKind.OWNERS_ADDRESS, limits.owners_address),
        (CapKind.NEW_ACCOUNT, limits.new_account),
        (CapKind.ROOMS, limits.rooms),
        (CapKind.ROOMS_PERSON, limits.rooms_person),
        (CapKind.ROOMS_NETWORK_ADDRESS, limits.rooms_person),
        (CapKind.ROOMS_FUNDING_WALLET, limits.rooms_person),
        (CapKind.ROOMS_OWNERS_ADDRESS, limits.rooms_owners_address),
    )
