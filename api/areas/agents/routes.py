"""Binds the rows agents.* of the catalogue to their commands and services."""

from api.areas.agents import eviction, schemas, self_record, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("agents.self_read", schemas.SelfQuery, self_record.read, schemas.SelfRecord, refuses=("not_found",)),
    Operation(
        "agents.self_write",
        schemas.DeclareSelf,
        self_record.declare,
        schemas.SelfRecord,
        refuses=(
            "signature_invalid",
            "wallet_required",
            "agent_key_scope",
        ),
    ),
    Operation("agents.status", NoInput, service.status, schemas.Status),
    Operation("agents.dashboard", NoInput, service.dashboard, schemas.Dashboard),
    Operation("agents.scopes", NoInput, service.scopes, schemas.Scopes),
    Operation("agents.scopes_set", schemas.SetScopes, service.set_scopes, schemas.Scopes, refuses=("not_owner",)),
    Operation("agents.persona", schemas.SeedPersona, self_record.seed_persona, schemas.SelfRecord, refuses=("not_owner",)),
    Operation("agents.mine", NoInput, service.mine, schemas.Fleet),
    Operation("agents.rotate_key", schemas.AgentPath, eviction.rotate_key, schemas.Rotated, refuses=("not_owner",)),
    Operation("agents.undo_recovery", schemas.AgentPath, eviction.undo_recovery, schemas.Rotated, refuses=("not_owner", "wrong_status")),
    Operation(
        "agents.unlink", schemas.Unlink, eviction.unlink, schemas.Rotated, refuses=("not_owner", "signature_invalid", "wallet_not_linked")
    ),
    Operation(
        "agents.confirm_wallet",
        schemas.ConfirmWallet,
        eviction.confirm_wallet,
        schemas.Confirmed,
        refuses=("not_owner", "wallet_not_linked"),
    ),
)
