"""The keeper's keys, by role: `keeper` for everything, `stop` for stops that must not wait behind
anything else, `pauser` to remove agents that cannot be stopped, `custody` to send what the API asks
for, `sponsor` to send sponsored buys.

A role's key stands in the environment, in an encrypted keystore, or with a remote signer; in one of
these places, never two. One that stands in the environment, or that everybody has, is for a local
chain only. No role has one = dry run. Built by keeper.main alone (law 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.chain.remote_signer import ANSWER_S, RemoteSigner
from core.chain.signer import Signer, local_signer, secret_of
from core.errors import InvalidParameterError, MandateError, OutsideError
from core.public_accounts import PUBLIC_ACCOUNTS
from keeper.state import Role

# what a signer that cannot sign may raise
UNSIGNED = (MandateError, OutsideError, OSError, ValueError, TypeError)
ERROR_CHARACTERS = 300
LOCAL_CLIENT = "anvil/"  # web3_clientVersion of a chain that runs on this machine for development
LOOPBACK = ("127.0.0.1", "::1", "localhost")
PREFIXES = {
    Role.KEEPER: "KEEPER",
    Role.STOP: "KEEPER_STOP",
    Role.PAUSER: "KEEPER_PAUSER",
    Role.CUSTODY: "CUSTODY_GAS",
    Role.SPONSOR: "SPONSOR",
}  # of the settings' names


class SignerRefusedError(MandateError):
    """This key must not sign on this chain."""

    def __init__(self, address: str, rule: str) -> None:
        super().__init__(f"{address}: {rule}")
        self.address = address
        self.rule = rule


def is_local(client_version: str) -> bool:
    """Whether this is a chain on this machine for development."""
    return client_version.lower().startswith(LOCAL_CLIENT)


def words_of(error: Exception) -> str:
    """What is told of an error; one that is not ours may hold anything."""
    is_ours = isinstance(error, MandateError | OutsideError)
    return (str(error) if is_ours else type(error).__name__)[:ERROR_CHARACTERS]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlace:
    """Where one role's key is, as the settings say."""

    private_key: SecretStr | None = None
    keystore: Path | None = None
    password_file: Path | None = None
    remote_url: str | None = None
    remote_address: str | None = None
    remote_token_file: Path | None = None
    remote_answer_s: float = ANSWER_S


def key_places(settings: Any) -> dict[Role, KeyPlace]:
    """Where core.settings say that each role's key is."""
    return {
        role: KeyPlace(
            private_key=getattr(settings, f"{name}_private_key"),
            keystore=getattr(settings, f"{name}_keystore"),
            password_file=getattr(settings, f"{name}_keystore_password_file"),
            remote_url=getattr(settings, f"{name}_remote_signer_url"),
            remote_address=getattr(settings, f"{name}_remote_signer_address"),
            remote_token_file=getattr(settings, f"{name}_remote_signer_token_file"),
            remote_answer_s=settings.keeper_remote_signer_answer_s,
        )
        for role, name in ((role, prefix.lower()) for role, prefix in PREFIXES.items())
    }


def require_all_allowed(
    signers: Mapping[Role, Signer], places: Mapping[Role, KeyPlace], client_version: str
) -> None:
    """May these accounts sign where the node is `client_version`? Errors: SignerRefusedError."""
    for role, signer in signers.items():
        is_plain = places[role].private_key is not None
        variable = f"{PREFIXES[role]}_PRIVATE_KEY" if is_plain else None
        require_allowed(signer.address, client_version, plain_variable=variable)


def require_allowed(address: str, client_version: str, *, plain_variable: str | None) -> None:
    """May this account sign here? `client_version` is the node's web3_clientVersion;
    `plain_variable` names the setting that holds the key in plain, None when none does.

    Errors: SignerRefusedError on a chain that is not local.
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


def require_gas_key(signers: Mapping[Role, Signer]) -> None:
    """Requests must not use up what stops need. Errors: InvalidParameterError."""
    if signers and Role.CUSTODY not in signers:
        raise InvalidParameterError(
            "CUSTODY_GAS_KEYSTORE",
            "CUSTODY_KEY is set, and transfers out of starter wallets need a key of their own "
            "for gas, never the keeper's; set CUSTODY_GAS_KEYSTORE or "
            "CUSTODY_GAS_REMOTE_SIGNER_URL",
        )


def signers_of(places: Mapping[Role, KeyPlace]) -> dict[Role, Signer]:
    """The roles that have a key.

    Nothing is asked over the network. Errors: InvalidParameterError naming the variable.
    """
    signers = dict[Role, Signer]()
    owners = dict[str, Role]()
    for role, place in places.items():
        signer = _signer_of(PREFIXES[role], place)
        if signer is None:
            continue
        if Role.KEEPER not in signers and role is not Role.KEEPER:
            raise InvalidParameterError(
                f"{PREFIXES[role]}_*",
                "this key alone can neither mark nor settle; set the keeper's own key too "
                "(KEEPER_KEYSTORE or KEEPER_REMOTE_SIGNER_URL)",
            )
        if signer.address in owners:
            raise InvalidParameterError(
                f"{PREFIXES[role]}_*",
                f"this is the account of {PREFIXES[owners[signer.address]]}_*; two keys of one "
                "account share its nonces",
            )
        signers[role] = signer
        owners[signer.address] = role
    return signers


def _signer_of(prefix: str, place: KeyPlace) -> Signer | None:
    places = {
        "PRIVATE_KEY": place.private_key,
        "KEYSTORE": place.keystore,
        "REMOTE_SIGNER_URL": place.remote_url,
    }
    named = [f"{prefix}_{name}" for name, value in places.items() if value is not None]
    if len(named) > 1:
        raise InvalidParameterError(named[1], f"set it or {named[0]}, not both")
    if place.remote_url is not None:
        return _remote(prefix, place.remote_url, place)
    return local_signer(prefix, place.private_key, place.keystore, place.password_file)


def _remote(prefix: str, url: str, place: KeyPlace) -> Signer:
    """A token goes over TLS, or to this machine."""
    if place.remote_address is None:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_ADDRESS", "name the account that it signs with"
        )
    token = None if place.remote_token_file is None else _token(prefix, place.remote_token_file)
    parts = urlsplit(url)
    if token is not None and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_URL", "a token may be sent over https only; write https://"
        )
    return RemoteSigner(url, place.remote_address, token=token, answer_s=place.remote_answer_s)


def _token(prefix: str, file: Path) -> str:
    try:
        token = secret_of(file)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_TOKEN_FILE", f"{file} can't be read ({type(error).__name__})"
        ) from None
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_TOKEN_FILE", f"{file} holds no token of one line"
        )
    return token
