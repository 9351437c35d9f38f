"""What the owner lets an agent's key build, in USD: a call, and a UTC day (core spec 5.3, decisions 54).

    per order   the call's amount_usdc                                   at most per_order_usd
    per day     what left the agent's mandates since 00:00 UTC + amount  at most per_day_usd

The day counts what the books say of all mandates that name the agent: what the chain executed, on paper what the agent
reported, and reports that the chain has no row for yet. Of a ledger that is short of facts nobody here knows what left: while a
mandate that counts has one, a key with a limit a day builds no call. A call that is built and not sent counts nothing. USDC counts as
one USD. These limits guard the key at this service; the vault's own caps stand in the contract.
"""

from datetime import datetime, timedelta

from api.areas.mandates.service.views import readings_of
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal
from core.db.repositories import mandate_rows, mandates
from core.db.repositories.mandate_rows import mandate_facts
from core.db.tables.mandate import Mandate
from core.domain.mandate.ledger import Kind
from core.domain.mandate.outflows import outflows
from core.domain.money import usdc_text
from core.domain.times import start_of_day

MOST_LIVE = 1_000
INSTANT = timedelta(microseconds=1)


def require_within_key_limits(call: Call, caller: AgentCaller, amount_usdc_e6: int) -> None:
    """Errors: Refusal spend_limit_reached."""
    if caller.per_order_usdc_e6 is not None and amount_usdc_e6 > caller.per_order_usdc_e6:
        limit = usdc_text(caller.per_order_usdc_e6)
        detail = f"Your key may spend {limit} USD a call, and this call asks for {usdc_text(amount_usdc_e6)}; ask for less."
        raise Refusal("spend_limit_reached", detail, remaining={"per_order_usd": limit})
    if caller.per_day_usdc_e6 is not None:
        _require_left_today(call, caller, caller.per_day_usdc_e6, amount_usdc_e6)


def _require_left_today(call: Call, caller: AgentCaller, limit_usdc_e6: int, amount_usdc_e6: int) -> None:
    midnight = start_of_day(call.now)
    left = max(0, limit_usdc_e6 - spent_since_usdc_e6(call, caller.account_id, midnight))
    if amount_usdc_e6 > left:
        detail = (
            f"Your key may spend {usdc_text(limit_usdc_e6)} USD a UTC day and has {usdc_text(left)} left, less than the "
            f"{usdc_text(amount_usdc_e6)} of this call; ask for less, or call again tomorrow."
        )
        remaining = {"per_day_usd": usdc_text(left)}
        raise Refusal("spend_limit_reached", detail, remaining=remaining, retry_at=midnight + timedelta(days=1))


def spent_since_usdc_e6(call: Call, agent_id: int, since: datetime) -> int:
    """What left the cash of the agent's mandates from `since` on (inclusive). Errors: Refusal temporarily_unavailable."""
    counted = mandates.spending_mandates_of_agent(call.db, agent_id, since)
    _require_known(call, [*counted, *mandates.mandates_of_agent(call.db, agent_id, mandates.LIVE, None, MOST_LIVE)])
    spent = 0
    for mandate in counted:
        rows = mandate_rows.standing_since(call.db, mandate.id, since - INSTANT, (Kind.MOVE, Kind.BUY))
        spent += sum(outflow.amount_usdc_e6 for outflow in outflows(rows, mandate_facts(mandate)))
    return spent


def _require_known(call: Call, found: list[Mandate]) -> None:
    """A ledger that shows no spending may lack it. Errors: Refusal temporarily_unavailable."""
    readings = readings_of(call, found)
    for mandate in found:
        short = readings[mandate.id].short
        if short is not None:
            raise Refusal("temporarily_unavailable", f"What mandate {mandate.public_id} spent today is not known. {short.reason}")
