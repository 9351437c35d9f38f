"""All SQL of evictions: an agent's secrets end together, and with them the wallet that waits or was
linked by them. Nothing here commits.

    generation   0 ----------- 1 ----------- 2            each eviction begins the next one
    key A, code A, bearer A    B             C            one live set at a time; the old ones are dead at once
    wallet linked under 0      stays, unless it waits     (confirmed, unowned or linked long enough: it stays; an unlink takes any)
    transfers asked under 0    void          void         the keeper signs only what the present generation asked for

Laws
- The caller holds the account's row (`identity.lock_account`): a link, a transfer and an eviction
  of one account come one after the other, and each reads what the one before it left.
"""

from datetime import datetime

from core.alerts import queries as alerts
from core.db.engine import WriteSession
from core.hexes import address_or_none
from core.identity import queries as identity
from core.identity.tables import Account


def waits(agent: Account, now: datetime) -> bool:
    """Whether a wallet is linked that no starter wallet pays yet."""
    return agent.wallet_address is not None and (
        agent.wallet_payable_at is None or agent.wallet_payable_at > now
    )


def can_undo_recovery(agent: Account) -> bool:
    """Whether somebody recovered the agent since its owner last replaced the secrets."""
    return agent.recovered_generation is not None


def was_linked_since_recovery(agent: Account) -> bool:
    """Also long after it; not a wallet that the owner has confirmed since."""
    return (
        agent.recovered_generation is not None
        and agent.wallet_generation is not None
        and agent.wallet_generation >= agent.recovered_generation
    )


def evict(
    session: WriteSession,
    agent: Account,
    key_hash: bytes,
    recovery_hash: bytes,
    now: datetime,
    *,
    unlinks: bool = False,
) -> str | None:
    """Replace the agent's key and recovery code and end its tokens of connect; its wallet is
    unlinked if it waits, or with `unlinks`.

    Answers the wallet that was unlinked, checksummed. Scopes, limits and the day's count stay with
    the key.
    """
    identity.replace_key(session, agent.id, key_hash, now)
    identity.revoke_sessions(session, agent.id, now)
    agent.recovery_hash = recovery_hash
    agent.generation += 1
    unlinked = _unlink(session, agent, now) if unlinks or waits(agent, now) else None
    session.flush()
    return unlinked


def settle_recovery(session: WriteSession, agent: Account, now: datetime) -> None:
    """The owner has replaced the secrets: there is no recovery to undo any more."""
    agent.recovered_generation = None
    session.flush()
    alerts.withdraw_of_agent(session, alerts.AGENT_RECOVERED, agent.id, now)


def note_recovery(session: WriteSession, agent: Account, now: datetime) -> None:
    """Notify the owner that the agent was recovered, once until the owner acts.

    An agent without an owner has nobody to notify.
    """
    if agent.owner_id is None or agent.recovered_generation is not None:
        return
    agent.recovered_generation = agent.generation
    session.flush()
    alerts.add_of_agent(
        session, alerts.AGENT_RECOVERED, agent.owner_id, agent.id, {"agent_name": agent.name}, now
    )


def confirm_wallet(session: WriteSession, agent: Account, now: datetime) -> None:
    """Starter wallets pay the linked wallet from now on, if not before; whatever linked it, it is
    the owner's word now.
    """
    if waits(agent, now):
        agent.wallet_payable_at = now
    agent.wallet_generation = None
    session.flush()
    alerts.withdraw_of_agent(session, alerts.AGENT_WALLET_LINKED, agent.id, now)


def _unlink(session: WriteSession, agent: Account, now: datetime) -> str | None:
    unlinked = address_or_none(agent.wallet_address)
    agent.wallet_address = agent.wallet_linked_at = agent.wallet_payable_at = (
        agent.wallet_generation
    ) = None
    alerts.withdraw_of_agent(session, alerts.AGENT_WALLET_LINKED, agent.id, now)
    return unlinked
