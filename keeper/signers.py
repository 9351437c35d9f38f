"""The keeper's keys, by role: `keeper` for everything, `stop` for stops that must not wait behind
anything else, `pauser` to remove agents that cannot be stopped, `custody` to send what the API asks
for, `sponsor` to send sponsored buys.

A role's key is in the environment, in an encrypted keystore, or with a remote signer; in one of
these places, never two. One that is in the environment, or that everybody has, is for a local
chain only. No role has one = dry run. Built by keeper.main alone (law 4).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.chain.reader import is_anvil
from core.chain.remote_signer import RemoteSigner
from core.chain.signer import Signer, local_signer, secret_of
from core.errors import InvalidParameterError, MandateError, OutsideError
from core.public_accounts import PUBLIC_ACCOUNTS
from keeper.state import Role

# what a signer that cannot sign may raise
UNSIGNED = (MandateError, OutsideError, OSError, ValueError, TypeError)
ERROR_CHARACTERS = 300
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PREFIXES = {
    Role.KEEPER: "KEEPER",
    Role.STOP: "KEEPER_STOP",
    Role.PAUSER: "KEEPER_PAUSER",
    Role.CUSTODY: "CUSTODY_GAS",
    Role.SPONSOR: "SPONSOR",
}  # of the settings' names


def words_of(error: Exception) -> str:
    """What is logged of an error; one that is not ours may hold anything."""
    is_ours = isinstance(error, MandateError | OutsideError)
    return (str(error) if is_ours else type(error).__name__)[:ERROR_CHARACTERS]


def require_all_allowed(signers: Mapping[Role, Signer], settings: Any, client_version: str) -> None:
    """May these accounts sign where the node is `client_version`? Errors:
    InvalidParameterError.
    """
    for role, signer in signers.items():
        is_plain = _setting(settings, PREFIXES[role], "PRIVATE_KEY") is not None
        variable = f"{PREFIXES[role]}_PRIVATE_KEY" if is_plain else None
        require_allowed(signer.address, client_version, plain_variable=variable)


def require_allowed(address: str, client_version: str, *, plain_variable: str | None) -> None:
    """May this account sign here? `client_version` is the node's web3_clientVersion;
    `plain_variable` names the setting that holds the key in plain, None when none does.

    Errors: InvalidParameterError on a chain that is not local.
    """
    if is_anvil(client_version):
        return
    if plain_variable is not None:
        better = plain_variable.replace("PRIVATE_KEY", "KEYSTORE")
        raise InvalidParameterError(plain_variable, f"accepted on a local chain only; use {better}")
    if address in PUBLIC_ACCOUNTS:
        raise InvalidParameterError(
            address, "this is a public test account; make a keystore of a key that is yours alone"
        )


def require_gas_key(signers: Mapping[Role, Signer]) -> None:
    """Requests must not use up what stops need. Errors: InvalidParameterError."""
    if signers and Role.CUSTODY not in signers:
        raise InvalidParameterError(
            "CUSTODY_GAS_KEYSTORE",
            "CUSTODY_KEY is set, and transfers out of starter wallets need a key of their own "
            "for gas, never the keeper's; set CUSTODY_GAS_KEYSTORE or "
            "CUSTODY_GAS_REMOTE_SIGNER_URL",
        )


def signers_of(settings: Any) -> dict[Role, Signer]:
    """The roles that have a key by core.settings.

    Nothing is asked over the network. Errors: InvalidParameterError naming the variable.
    """
    signers = dict[Role, Signer]()
    owners = dict[str, str]()
    for role, prefix in PREFIXES.items():
        signer = _signer_of(settings, prefix)
        if signer is None:
            continue
        if Role.KEEPER not in signers and role is not Role.KEEPER:
            raise InvalidParameterError(
                f"{prefix}_*",
                "this key alone can neither mark nor settle; set the keeper's own key too "
                "(KEEPER_KEYSTORE or KEEPER_REMOTE_SIGNER_URL)",
            )
        if (other := owners.setdefault(signer.address, prefix)) != prefix:
            raise InvalidParameterError(
                f"{prefix}_*",
                f"this is the account of {other}_*; two keys of one account share its nonces",
            )
        signers[role] = signer
    return signers


def _setting(settings: Any, prefix: str, name: str) -> Any:
    return getattr(settings, f"{prefix}_{name}".lower())


def _signer_of(settings: Any, prefix: str) -> Signer | None:
    names = ("PRIVATE_KEY", "KEYSTORE", "REMOTE_SIGNER_URL")
    named = [f"{prefix}_{name}" for name in names if _setting(settings, prefix, name) is not None]
    if len(named) > 1:
        raise InvalidParameterError(named[1], f"set it or {named[0]}, not both")
    private_key, keystore, url = (_setting(settings, prefix, name) for name in names)
    if url is not None:
        return _remote(settings, prefix, url)
    password_file = _setting(settings, prefix, "KEYSTORE_PASSWORD_FILE")
    return local_signer(prefix, private_key, keystore, password_file)


def _remote(settings: Any, prefix: str, url: str) -> Signer:
    """A token goes over TLS, or to this machine."""
    address, file = (
        _setting(settings, prefix, f"REMOTE_SIGNER_{name}") for name in ("ADDRESS", "TOKEN_FILE")
    )
    if address is None:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_ADDRESS", "name the account that it signs with"
        )
    token, parts = None if file is None else _token(prefix, file), urlsplit(url)
    if token is not None and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_URL", "a token may be sent only over https; write https://"
        )
    return RemoteSigner(url, address, token=token, answer_s=settings.keeper_remote_signer_answer_s)


def _token(prefix: str, file: Path) -> str:
    try:
        token = secret_of(file)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_TOKEN_FILE", f"{file} can't be read ({type(error).__name__})"
        ) from None
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_TOKEN_FILE", f"{file} does not hold a token in one line"
        )
    return token
