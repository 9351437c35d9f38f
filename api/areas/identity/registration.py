"""Who may register an agent now, and whether the welcome credit comes with it (core spec 5.4, 8; decisions 62, 66).

    unowned   10 in a sliding 60 s and 30 in a UTC day per network address; the first 3 of the day are credited
    owned     20 per owner, no limit per address; always credited

Counted in Postgres under a lock, in the transaction that registers: two calls at once cannot both be the last.
"""

from datetime import datetime, time, timedelta

from api.kernel.operation import Call, Refusal
from core.db.repositories import identity

WINDOW = timedelta(seconds=60)


def admit_unowned(call: Call) -> bool:
    """True when the welcome credit is due. Errors: Refusal rate_limited with the time from which it works."""
    limits = call.deps.limits
    identity.lock_registrations(call.db, call.client)
    midnight = datetime.combine(call.now.date(), time(0), call.now.tzinfo)
    today = identity.count_unowned_registrations(call.db, call.client, midnight)
    if today >= limits.registrations_per_day:
        raise _rate_limited(f"{limits.registrations_per_day} registrations a day", midnight + timedelta(days=1))
    recent = identity.unowned_registrations(call.db, call.client, call.now - WINDOW)
    if len(recent) >= limits.registrations_per_minute:
        raise _rate_limited(f"{limits.registrations_per_minute} registrations a minute", recent[-limits.registrations_per_minute] + WINDOW)
    return today < limits.welcome_per_address_per_day


def admit_owned(call: Call, owner_id: int) -> bool:
    """Always True: an owned agent is credited. Errors: Refusal owned_agents_limit."""
    identity.lock_account(call.db, owner_id)
    limit = call.deps.limits.agents_per_owner
    if identity.count_agents_of_owner(call.db, owner_id) >= limit:
        raise Refusal("owned_agents_limit", f"You own {limit} agents already, the most that one owner may have; use one of them.")
    return True


def _rate_limited(limit: str, retry_at: datetime) -> Refusal:
    detail = (
        f"This network address has used its {limit}; register later, or while your owner is signed in (owned agents have no such limit)."
    )
    return Refusal("rate_limited", detail, retry_at=retry_at)
