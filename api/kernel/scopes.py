"""What a key may do: scopes narrow relative to full access, they never widen (core spec 5.3, decisions 5, 41, 60)."""

from api.catalog import Family, Row
from api.kernel.caller import AgentCaller, Caller
from api.kernel.operation import Refusal


def require_scope(row: Row, caller: Caller) -> None:
    """Errors: Refusal scope_denied on wallet routes, agent_key_scope on others. No list is full access, an empty one none."""
    if row.scope is None or not isinstance(caller, AgentCaller) or caller.scopes is None or row.scope in caller.scopes:
        return
    detail = f"This key lacks the scope {row.scope}; its owner can grant it."
    if row.family is Family.WALLET:
        raise Refusal("scope_denied", detail, missing=row.scope)
    raise Refusal("agent_key_scope", detail, missing=row.scope, extra={"error": "agent_key_scope", "scope": row.scope})
