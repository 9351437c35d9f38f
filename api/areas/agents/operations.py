"""The operations of the area agents: an agent's own pages, and its owner's controls."""

from api.areas.agents.service import eviction, pages, self_record
from api.kernel.auth import BY_KEY, BY_OWNER
from api.kernel.operation import Area, CallBounds, Read, Reason, Write

AREA = Area(
    name="agents",
    about="An agent's own pages, and its owner's controls.",
    operations=(
        Read(
            key="agents.self_read",
            path="/agent/self",
            auth=BY_KEY,
            summary="Read your self-declared record, or with wallet= that of the agent with this "
            "wallet, and who signed it.",
            handler=self_record.read,
            refuses=("not_found",),
        ),
        Write(
            key="agents.self_write",
            path="/agent/self",
            auth=BY_KEY,
            summary="Replace your self-declared record; with your wallet's signature it is provably "
            "yours.",
            handler=self_record.declare,
            refuses=("signature_invalid", "wallet_required", "agent_key_scope"),
            example={"persona": "A careful buyer of units.", "next_steps": ["find a mandate"]},
            idempotent=True,
        ),
        Read(
            key="agents.status",
            path="/agent/status",
            auth=BY_KEY,
            summary="Read your verified record: contributions, credit balance, reputation, tiers.",
            handler=pages.status,
        ),
        Read(
            key="agents.dashboard",
            path="/agent/dashboard",
            auth=BY_KEY,
            summary="Read the state of your work, stage by stage.",
            handler=pages.dashboard,
        ),
        Read(
            key="agents.scopes",
            path="/agent/scopes",
            auth=BY_KEY,
            summary="Read what your key may do, and its limits in USD.",
            handler=pages.scopes,
        ),
        Write(
            key="agents.scopes_set",
            bounds=CallBounds(adds_rows=True),
            method="PUT",
            path="/agents/{id}/scopes",
            auth=BY_OWNER,
            summary="Replace what your agent's key may do; scopes null is full access, an empty list "
            "none.",
            handler=pages.set_scopes,
            refuses=("not_owner",),
        ),
        Write(
            key="agents.persona",
            bounds=CallBounds(adds_rows=True),
            path="/agents/{id}/persona",
            auth=BY_OWNER,
            summary="Seed your agent's persona; it applies until the agent declares its own.",
            handler=self_record.seed_persona,
            refuses=("not_owner",),
            idempotent=True,
        ),
        Read(
            key="agents.mine",
            path="/agents/mine",
            auth=BY_OWNER,
            summary="List your agents: status, scopes, wallet, last call.",
            handler=pages.mine,
        ),
        Write(
            key="agents.rotate_key",
            path="/agents/{id}/keys/rotate",
            auth=BY_OWNER,
            summary="Replace all secrets of your agent: key, recovery code and the bearer token "
            "from connect; a pending wallet is unlinked, scopes stay.",
            handler=eviction.rotate_key,
            refuses=("not_owner",),
        ),
        Write(
            key="agents.undo_recovery",
            path="/agents/{id}/recovery/undo",
            auth=BY_OWNER,
            summary="Undo a recovery of your agent: its secrets are replaced, and a wallet linked "
            "since then is unlinked.",
            handler=eviction.undo_recovery,
            refuses=("not_owner", "wrong_status"),
        ),
        Write(
            key="agents.unlink",
            path="/agents/{id}/wallet/unlink",
            auth=BY_OWNER,
            summary="Unlink your agent's wallet with the signed message of purpose unlink; its "
            "secrets are replaced too.",
            handler=eviction.unlink,
            refuses=("not_owner", "signature_invalid", "wallet_not_linked"),
        ),
        Write(
            key="agents.confirm_wallet",
            path="/agents/{id}/wallet/confirm",
            auth=BY_OWNER,
            summary="Confirm the wallet that your agent has linked, so that its starter wallet pays "
            "it from now on.",
            handler=eviction.confirm_wallet,
            refuses=("not_owner", "wallet_not_linked"),
        ),
    ),
    reasons={
        "wallet_required": Reason(
            409,
            False,
            "agent",
            (),
            example="A signed record needs a linked wallet; link one, or leave the signature out.",
        ),
    },
    capabilities=("agents", "self_records"),
)
