"""What an owner does when an agent's secrets, or its wallet, are in other hands.

    rotate          new key, recovery code and token of connect for the owner; a wallet that waits is unlinked
    undo_recovery   the same, after somebody recovered the agent; and the wallet that was linked since
    unlink          the same, and whatever wallet is linked; signed again by the owner's wallet, so that a session alone cannot
                    make room for another wallet
    confirm         the linked wallet need not wait

Laws
- Each of the first three ends every secret from before: the agent's, the transfers that were asked
  for with them, and the owner's other sessions. The one that makes the call goes on.
- The answer is not kept for an Idempotency-Key: it holds secrets, and nobody replays it.
"""

from typing import NoReturn

from api.areas.agents.schemas import Confirmed, ConfirmWallet, OwnAgentPath, Rotated, Unlink
from api.areas.agents.service.access import held, owned
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Refusal, WriteCall
from api.shared.sessions import evict
from api.shared.siwe import Purpose, TextSubject, verify_wallet
from core.hexes import address_or_none
from core.identity import evictions
from core.identity import queries as identity
from core.identity.tables import Account
from core.times import instant_text


def rotate_key(call: WriteCall, caller: OwnerCaller, command: OwnAgentPath) -> Answer[Rotated]:
    """Errors: Refusal not_found, not_owner."""
    return _evicted(call, caller, _held(call, caller, command.id))


def undo_recovery(call: WriteCall, caller: OwnerCaller, command: OwnAgentPath) -> Answer[Rotated]:
    """Errors: Refusal not_found, not_owner; wrong_status when nobody recovered the agent since its
    owner last replaced the secrets.
    """
    agent = _held(call, caller, command.id)
    if not evictions.can_undo_recovery(agent):
        detail = (
            f"Agent {agent.id} has not been recovered since you last replaced its secrets; "
            "to replace them, rotate them."
        )
        raise Refusal("wrong_status", detail, next_calls=("agents.rotate_key", "agents.mine"))
    return _evicted(call, caller, agent, unlinks=evictions.was_linked_since_recovery(agent))


def unlink(call: WriteCall, caller: OwnerCaller, command: Unlink) -> Answer[Rotated]:
    """Errors: Refusal not_found, not_owner, signature_invalid; wallet_not_linked when there is none
    to unlink.
    """
    subject = TextSubject(Purpose.UNLINK, agent_id=owned(call, caller, command.id).id)
    verify_wallet(call, subject, caller.wallet_address, command.signature, command.message)
    agent = _held(call, caller, command.id)
    if agent.wallet_address is None:
        _refuse_unlinked(
            f"Agent {agent.id} has no wallet to unlink; to replace its secrets, rotate them."
        )
    return _evicted(call, caller, agent, unlinks=True)


def confirm_wallet(
    call: WriteCall, caller: OwnerCaller, command: ConfirmWallet
) -> Answer[Confirmed]:
    """Errors: Refusal not_found, not_owner; wallet_not_linked when the agent's wallet is another
    one, or none.
    """
    agent = _held(call, caller, command.id)
    linked = address_or_none(agent.wallet_address)
    if linked != command.wallet_address:
        _refuse_unlinked(
            f"wallet_address: agent {agent.id} has linked {linked or 'no wallet'}, not "
            f"{command.wallet_address}."
        )
    evictions.confirm_wallet(call.db, agent, call.now)
    assert agent.wallet_payable_at is not None, "a linked wallet is payable from some time on"
    payable_at = instant_text(agent.wallet_payable_at)
    return Answer(
        Confirmed(
            user_id=agent.id, wallet_address=command.wallet_address, wallet_payable_at=payable_at
        )
    )


def _held(call: WriteCall, caller: OwnerCaller, agent_id: int) -> Account:
    """The owner's agent, held until the call ends, as everything that the owner does to secrets
    is.
    """
    held(call, caller, agent_id)
    return identity.lock_account(call.db, agent_id)


def _evicted(
    call: WriteCall, caller: OwnerCaller, agent: Account, *, unlinks: bool = False
) -> Answer[Rotated]:
    evicted = evict(call, agent, unlinks=unlinks)
    evictions.settle_recovery(call.db, agent, call.now)
    identity.revoke_sessions(call.db, caller.account_id, call.now, but=caller.session_id)
    return Answer(Rotated.of(evicted, user_id=agent.id, unlinked_wallet=evicted.unlinked))


def _refuse_unlinked(detail: str) -> NoReturn:
    raise Refusal("wallet_not_linked", detail, next_calls=("agents.mine", "agents.rotate_key"))
