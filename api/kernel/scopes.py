"""What a key may do: scopes narrow relative to full access, they never widen
(docs/identity.md#scopes).
"""

from api.kernel.caller import AgentCaller, Caller
from api.kernel.operation import Family, Operation, Refusal

SPEND_SCOPE = "spend"  # what costs something needs it
ANY_SCOPE = "any"  # of an operation: any scope will do, but a key with an empty list may not


def may(scopes: tuple[str, ...] | None, needed: str | None) -> bool:
    """Whether a key with these scopes may make a call that needs that one."""
    if needed is None or scopes is None:
        return True
    return bool(scopes) if needed == ANY_SCOPE else needed in scopes


def require_scope(operation: Operation, caller: Caller) -> None:
    """Errors: Refusal scope_denied on wallet routes, agent_key_scope on others. No list is full
    access, an empty one none.
    """
    if operation.scope is not None and isinstance(caller, AgentCaller):
        require_named_scope(caller, operation.scope, operation.family)


def require_named_scope(caller: AgentCaller, scope: str, family: Family = Family.CORE) -> None:
    """As `require_scope`, where what was sent decides whether a scope is needed, as a signature
    does.
    """
    if may(caller.scopes, scope):
        return
    detail = (
        "This key has no scope; its owner can grant one."
        if scope == ANY_SCOPE
        else f"This key lacks the scope {scope}; its owner can grant it."
    )
    if family is Family.WALLET:
        raise Refusal("scope_denied", detail, missing=scope)
    raise Refusal(
        "agent_key_scope", detail, missing=scope, extra={"error": "agent_key_scope", "scope": scope}
    )
