"""Who may sign up as an owner or register an agent now, whether the welcome credit comes with it,
and the agent that is made.

    unowned   10 in a sliding 60 s and 30 in a UTC day per network address; of the day's the first 3 are credited
              (defense level 1: the first one; levels 2 and 3: none)
    owned     20 per owner; each is credited
    owners    10 first sign-ins in a UTC day per network address

Counted in Postgres under the address's lock, in the transaction that registers: two calls at once
cannot both be the last; those of an owner under the owner's.
Source: docs/identity.md#how-many, docs/rules.md#registering; docs/decisions/0006.
"""

from datetime import datetime, timedelta

from api.areas.identity.schemas import Connected
from api.areas.safety import queries as safety
from api.areas.safety.rules import welcomes_a_day
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Refusal, WriteCall
from api.kernel.tokens import TokenKind
from api.shared.sessions import hash_of, lock_owner, open_agent_session
from core.credits.ledger import writer as credit_ledger
from core.identity import queries as identity
from core.times import next_day, start_of_day

WINDOW = timedelta(seconds=60)
OWNED_INSTEAD = (
    "register later, or while your owner is signed in (owned agents are counted separately)"
)


def admit_unowned(call: WriteCall) -> bool:
    """True when the welcome credit is due.

    Errors: Refusal rate_limited with the time from which it works.
    """
    limits = call.deps.limits
    identity.lock_registrations(call.db, call.client)
    today = identity.count_unowned_registrations(call.db, call.client, start_of_day(call.now))
    if today >= limits.registrations_per_day:
        raise _rate_limited(
            f"{limits.registrations_per_day} registrations per day",
            OWNED_INSTEAD,
            next_day(call.now),
        )
    recent = identity.unowned_registrations(call.db, call.client, call.now - WINDOW)
    if len(recent) >= limits.registrations_per_minute:
        again = recent[-limits.registrations_per_minute] + WINDOW
        raise _rate_limited(
            f"{limits.registrations_per_minute} registrations per minute", OWNED_INSTEAD, again
        )
    return today < welcomes_a_day(safety.defense_level(call.db), limits.welcome_per_address_per_day)


def admit_owned(call: WriteCall, caller: OwnerCaller) -> None:
    """Errors: Refusal owned_agents_limit, auth_invalid."""
    most = call.deps.limits.agents_per_owner
    lock_owner(call, caller)
    if len(identity.agent_ids_of_owner(call.db, caller.account_id)) >= most:
        detail = (
            f"You already own {most} agents, the most that one owner may have; use one of them."
        )
        raise Refusal("owned_agents_limit", detail)


def admit_owner(call: WriteCall) -> None:
    """Whether one more wallet may become an owner. Errors: Refusal rate_limited."""
    limit = call.deps.limits.owner_sign_ups_per_day
    identity.lock_registrations(call.db, call.client)
    if identity.count_owner_sign_ups(call.db, call.client, start_of_day(call.now)) >= limit:
        instead = (
            "sign in for the first time later, or from another network address; an owner "
            "who has signed in before can do so at any time"
        )
        raise _rate_limited(
            f"{limit} new owners per day", instead, next_day(call.now), next_calls=()
        )


def enrol(
    call: WriteCall, name: str, *, owner_id: int | None = None, is_welcome: bool, **names: str
) -> Connected:
    """Make the agent; the answer has all that is shown once.

    `names`: external_id and recovery_name, where it has them.
    """
    key, recovery = call.mint(TokenKind.AGENT_KEY), call.mint(TokenKind.RECOVERY_CODE)
    agent = identity.add_agent(
        call.db, name, owner_id, call.client, hash_of(call, recovery), call.now, **names
    )
    identity.add_key(call.db, agent.id, hash_of(call, key), call.now)
    welcome = call.deps.limits.welcome_credits if is_welcome else 0
    if welcome > 0:
        credit_ledger.grant_welcome(call.db, agent.id, welcome, call.now)
    return Connected(
        api_key=key,
        recovery_code=recovery,
        user_id=agent.id,
        bearer_token=open_agent_session(call, agent.id),
        welcome_credit_granted=welcome > 0,
    )


def _rate_limited(
    limit: str, instead: str, retry_at: datetime, next_calls: tuple[str, ...] | None = None
) -> Refusal:
    return Refusal(
        "rate_limited",
        f"This network address has used its {limit}; {instead}.",
        retry_at=retry_at,
        next_calls=next_calls,
    )
