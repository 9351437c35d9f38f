"""Who may register an agent now, whether the welcome credit comes with it, and the account that is made.

    unowned   10 in a sliding 60 s and 30 in a UTC day per network address; of the day's the first 3 are credited
              (defense level 1: the first one; levels 2 and 3: none)
    owned     20 per owner, no limit per address; always credited

Counted in Postgres under a lock, in the transaction that registers: two calls at once cannot both be the last.
Source: core spec 5.4, 5.5, 8; decisions 62, 66.
"""

from collections.abc import Mapping
from datetime import datetime, time, timedelta
from typing import Any

from api.kernel.defense import welcomes_a_day
from api.kernel.operation import Call, Refusal
from api.kernel.sessions import hash_of, open_agent_session
from api.kernel.tokens import TokenKind, mint
from core.books import credit_ledger
from core.db.repositories import identity, safety

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
    return today < welcomes_a_day(safety.defense_level(call.db), limits.welcome_per_address_per_day)


def admit_owned(call: Call, owner_id: int) -> bool:
    """Always True: an owned agent is credited. Errors: Refusal owned_agents_limit."""
    identity.lock_account(call.db, owner_id)
    limit = call.deps.limits.agents_per_owner
    if identity.count_agents_of_owner(call.db, owner_id) >= limit:
        raise Refusal("owned_agents_limit", f"You own {limit} agents already, the most that one owner may have; use one of them.")
    return True


def enrol(call: Call, name: str, *, owner_id: int | None = None, is_welcome: bool, **names: str) -> Mapping[str, Any]:
    """Make the agent; the answer has all that is shown once. `names`: external_id and recovery_name, where it has them."""
    key, recovery = mint(TokenKind.AGENT_KEY), mint(TokenKind.RECOVERY_CODE)
    agent = identity.add_agent(call.db, name, owner_id, call.client, hash_of(call, recovery), call.now, **names)
    identity.add_key(call.db, agent.id, hash_of(call, key), call.now)
    if is_welcome and call.deps.limits.welcome_credits > 0:
        credit_ledger.grant_welcome(call.db, agent.id, call.deps.limits.welcome_credits, call.now)
    return {
        "api_key": key,
        "recovery_code": recovery,
        "user_id": agent.id,
        "bearer_token": open_agent_session(call, agent.id),
        "welcome_credit_granted": is_welcome,
    }


def _rate_limited(limit: str, retry_at: datetime) -> Refusal:
    detail = (
        f"This network address has used its {limit}; register later, or while your owner is signed in (owned agents have no such limit)."
    )
    return Refusal("rate_limited", detail, retry_at=retry_at)
