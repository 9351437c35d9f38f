"""Binds the rows identity.* of the catalogue to their commands and services."""

from api.areas.identity import recovery, schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("identity.nonce", schemas.Nonce, service.nonce, schemas.NonceIssued),
    Operation("identity.login", schemas.Login, service.login, schemas.LoggedIn, refuses=("signature_invalid", "wallet_taken")),
    Operation("identity.logout", NoInput, service.logout, schemas.Done),
    Operation("identity.connect", schemas.Connect, service.connect, schemas.Connected, refuses=("owned_agents_limit",), in_turn=True),
    Operation(
        "identity.register",
        schemas.Register,
        service.register,
        schemas.Connected,
        refuses=("signature_invalid", "wallet_taken"),
        in_turn=True,
    ),
    Operation(
        "identity.register_external",
        schemas.RegisterExternal,
        service.register_external,
        schemas.RegisteredExternal,
        refuses=("external_id_taken",),
        in_turn=True,
    ),
    Operation("identity.recover", schemas.Recover, recovery.recover, schemas.Recovered, in_turn=True),
    Operation(
        "identity.link",
        schemas.Link,
        service.link,
        schemas.WalletStatus,
        refuses=("signature_invalid", "account_has_wallet", "wallet_taken"),
    ),
    Operation("identity.wallet_status", NoInput, service.wallet_status, schemas.WalletStatus),
)
