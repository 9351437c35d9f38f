"""Which keys may sign where.

A key that stands in the environment, or that everybody has, is for a local chain only.
"""

from core.errors import InvalidParameterError, MandateError, OutsideError
from core.public_accounts import PUBLIC_ACCOUNTS

# what a signer that cannot sign may raise
UNSIGNED = (MandateError, OutsideError, OSError, ValueError, TypeError)
ERROR_CHARACTERS = 300
LOCAL_CLIENT = "anvil/"  # web3_clientVersion of a chain that runs on this machine for development


def is_local(client_version: str) -> bool:
    """Whether this is a chain on this machine for development."""
    return client_version.lower().startswith(LOCAL_CLIENT)


class SignerRefusedError(MandateError):
    """This key must not sign on this chain."""

    def __init__(self, address: str, rule: str) -> None:
        super().__init__(f"{address}: {rule}")
        self.address = address
        self.rule = rule


def require_allowed(address: str, client_version: str, *, plain_variable: str | None) -> None:
    """May this account sign here? Asked of every role's.

    `client_version` is the node's web3_clientVersion; `plain_variable` names the setting that holds
    the key in plain, None when none does. Errors: SignerRefusedError on a chain that is not local.
    """
    if is_local(client_version):
        return
    if plain_variable is not None:
        better = plain_variable.replace("PRIVATE_KEY", "KEYSTORE")
        raise SignerRefusedError(
            address, f"{plain_variable} is accepted on a local chain only; use {better}"
        )
    if address in PUBLIC_ACCOUNTS:
        raise SignerRefusedError(
            address, "this is a public test account; make a keystore of a key that is yours alone"
        )


def require_gas_key(client_version: str, *, has_custody: bool, has_gas_key: bool) -> None:
    """Requests must not use up what stops need.

    Errors: InvalidParameterError on a chain that is not local.
    """
    if has_custody and not has_gas_key and not is_local(client_version):
        raise InvalidParameterError(
            "CUSTODY_GAS_KEYSTORE",
            "CUSTODY_KEY is set, and transfers out of starter wallets need a key of their own "
            "for gas, never the keeper's; set CUSTODY_GAS_KEYSTORE or "
            "CUSTODY_GAS_REMOTE_SIGNER_URL",
        )


def words_of(error: Exception) -> str:
    """What is told of an error; one that is not ours may hold anything."""
    return (str(error) if isinstance(error, MandateError | OutsideError) else type(error).__name__)[
        :ERROR_CHARACTERS
    ]
