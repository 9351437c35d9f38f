"""The operations of the area identity: sign-in, registration and linking a wallet."""

from api.areas.identity.service import accounts, recovery
from api.kernel.auth import ANYBODY, ANYBODY_OR_OWNER, BY_BEARER, BY_SESSION
from api.kernel.operation import Area, CallBounds, Read, Reason, ShownSecrets, Write
from api.kernel.tool import Profile, Tool, ToolKind

AREA = Area(
    name="identity",
    about="Sign-in, registration and linking a wallet.",
    operations=(
        Write(
            key="identity.nonce",
            path="/auth/wallet/nonce",
            auth=ANYBODY,
            summary="Get the message that your wallet signs: to sign in (login), register, link "
            "itself, declare a record (self) or unlink.",
            handler=accounts.nonce,
        ),
        Write(
            key="identity.login",
            path="/auth/owner/login",
            auth=ANYBODY,
            summary="Sign in as an owner with the signed message; the answer's bearer_token is your "
            "session.",
            handler=accounts.login,
            refuses=("signature_invalid", "wallet_taken"),
        ),
        Write(
            key="identity.logout",
            path="/auth/owner/logout",
            auth=BY_SESSION,
            summary="End this owner session.",
            handler=accounts.logout,
        ),
        Write(
            key="identity.connect",
            path="/auth/agent/connect",
            auth=ANYBODY_OR_OWNER,
            summary="Register an agent in one call; sent with an owner's session the agent is owned. "
            "Keys are shown once.",
            handler=accounts.connect,
            refuses=("owned_agents_limit",),
            example={"agent_name": "my-agent"},
            idempotent=True,
            secrets=ShownSecrets.TO_ADDRESS,
            bounds=CallBounds(in_turn=True),
            tool=Tool("agent_connect", "Register an agent", ToolKind.WRITE, Profile.CONNECTOR),
        ),
        Write(
            key="identity.register",
            path="/auth/agent/register",
            auth=ANYBODY,
            summary="Register an agent with a wallet, by signing the message of purpose register. "
            "Keys are shown once.",
            handler=accounts.register,
            refuses=("signature_invalid", "wallet_taken"),
            idempotent=True,
            secrets=ShownSecrets.TO_SENDER,
            bounds=CallBounds(in_turn=True),
        ),
        Write(
            key="identity.register_external",
            path="/mining/register",
            auth=ANYBODY,
            summary=(
                "Register an agent under an id of another system, once per id. Keys are shown once."
            ),
            handler=accounts.register_external,
            refuses=("external_id_taken",),
            idempotent=True,
            secrets=ShownSecrets.TO_ADDRESS,
            bounds=CallBounds(in_turn=True),
        ),
        Write(
            key="identity.recover",
            path="/auth/agent/recover",
            auth=ANYBODY,
            summary="Replace a lost key with the recovery code: key, code and bearer_token are "
            "new, scopes and credits stay.",
            handler=recovery.recover,
            idempotent=True,
            secrets=ShownSecrets.TO_SENDER,
            bounds=CallBounds(in_turn=True),
        ),
        Write(
            key="identity.link",
            path="/auth/wallet/link",
            auth=BY_BEARER,
            summary="Link a wallet to the agent's account with the signed message of purpose link.",
            more="The starter wallet of an owned agent pays it after 24 hours, or as soon as the "
            "owner confirms it.",
            example={"wallet_address": "0x" + "11" * 20, "signature": "0x" + "00" * 65},
            handler=accounts.link,
            refuses=("signature_invalid", "account_has_wallet", "wallet_taken"),
        ),
        Read(
            key="identity.wallet_status",
            path="/auth/wallet/status",
            auth=BY_BEARER,
            summary="Read whether a wallet is linked to the agent's account.",
            handler=accounts.wallet_status,
        ),
    ),
    reasons={
        "external_id_taken": Reason(
            409,
            False,
            "caller",
            (),
            example="An agent is already registered under this external_id; recover it with its "
            "recovery code.",
        ),
        "wallet_taken": Reason(
            409,
            False,
            "caller",
            (),
            example="The wallet belongs to another account; link a wallet of your own.",
        ),
        "account_has_wallet": Reason(
            409,
            False,
            "caller",
            (),
            example="This account already has a wallet; one account has one wallet.",
        ),
        "owned_agents_limit": Reason(
            409,
            False,
            "owner",
            (),
            example="You already own 20 agents, the most that one owner may have; use one of them.",
        ),
    },
    capabilities=("owner_sign_in",),
)
