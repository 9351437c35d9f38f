"""Who may see or move a mandate.

One that the caller is no party to does not exist for the caller (docs/rules.md#parties-only).
"""

from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.operation import Call, Refusal, WriteCall
from core.identity import queries as identity
from core.identity.tables import Account
from core.mandate import queries as mandates
from core.mandate.rules.lifecycle import ACTIVE, Status
from core.mandate.tables import Mandate


def owned(call: Call, caller: OwnerCaller, public_id: str) -> Mandate:
    """The owner's mandate. Errors: Refusal not_found."""
    return _own(mandates.find_mandate(call.db, public_id), caller, public_id)


def named_to(call: Call, caller: AgentCaller, public_id: str) -> Mandate:
    """The mandate that names the agent. Errors: Refusal not_found."""
    return _named(mandates.find_mandate(call.db, public_id), caller, public_id)


def owned_locked(call: WriteCall, caller: OwnerCaller, public_id: str) -> Mandate:
    """As `owned`; nobody else moves the mandate until the transaction ends."""
    return _own(mandates.lock_named(call.db, public_id), caller, public_id)


def named_to_locked(call: WriteCall, caller: AgentCaller, public_id: str) -> Mandate:
    """As `named_to`; nobody else moves the mandate until the transaction ends."""
    return _named(mandates.lock_named(call.db, public_id), caller, public_id)


def held_by_locked(call: WriteCall, caller: AgentCaller | OwnerCaller, public_id: str) -> Mandate:
    """As `owned_locked` for an owner, as `named_to_locked` for an agent: who may move the mandate."""
    return (
        owned_locked(call, caller, public_id)
        if isinstance(caller, OwnerCaller)
        else named_to_locked(call, caller, public_id)
    )


def party_of(call: Call, caller: AgentCaller | OwnerCaller, public_id: str) -> Mandate:
    """As `owned` for an owner, as `named_to` for an agent; the agent that proposed a draft may see
    it too, while it is one.
    """
    if isinstance(caller, OwnerCaller):
        return owned(call, caller, public_id)
    mandate = mandates.find_mandate(call.db, public_id)
    if mandate is None or not _may_see(caller, mandate):
        raise not_found(public_id)
    return mandate


def readable_by(call: Call, caller: AgentCaller | OwnerCaller | Nobody, public_id: str) -> Mandate:
    """As `party_of`, with head and agent loaded; what is on the open board every agent may read
    before it accepts, and the sample of a simulated world anybody.
    """
    mandate = mandates.read_mandate(call.db, public_id)
    if mandate is not None and mandates.is_sample(mandate):
        return mandate
    if isinstance(caller, Nobody):
        raise _without_credential()
    if mandate is None or not may_read(caller, mandate):
        raise not_found(public_id)
    return mandate


def may_read(caller: AgentCaller | OwnerCaller, mandate: Mandate) -> bool:
    if isinstance(caller, OwnerCaller):
        return mandate.owner_id == caller.account_id
    return _may_see(caller, mandate) or is_on_board(mandate)


def _may_see(caller: AgentCaller, mandate: Mandate) -> bool:
    """What another agent does in the mandate is not for the one that once proposed it."""
    is_own_draft = (
        mandate.status == Status.DRAFT and mandate.proposed_by_agent_id == caller.account_id
    )
    return is_own_draft or mandate.agent_id == caller.account_id


def is_on_board(mandate: Mandate) -> bool:
    return mandate.open_board and mandate.agent_id is None and mandate.status in ACTIVE


def agent_of_id(call: Call, agent_id: str) -> Account:
    """Agents are public: an unknown one is not_found. Errors: Refusal."""
    agent = identity.find_agent(call.db, int(agent_id))
    if agent is None:
        raise Refusal("not_found", f"No agent has the id {agent_id}.", next_calls=("hall.list",))
    return agent


def not_found(public_id: str) -> Refusal:
    return Refusal("not_found", f"You have no mandate {public_id}.")


def _without_credential() -> Refusal:
    """Whether the mandate exists is not said."""
    return Refusal(
        "auth_required",
        "Send an agent's key in X-SVC-User-Key, or an owner's session: Authorization: Bearer <token>.",
    )


def _own(mandate: Mandate | None, caller: OwnerCaller, public_id: str) -> Mandate:
    if mandate is None or mandate.owner_id != caller.account_id:
        raise not_found(public_id)
    return mandate


def _named(mandate: Mandate | None, caller: AgentCaller, public_id: str) -> Mandate:
    if mandate is None or mandate.agent_id != caller.account_id:
        raise not_found(public_id)
    return mandate
