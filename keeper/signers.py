"""The keeper's keys, by role: `keeper` for everything, `stop` for stops that must not wait behind
anything else, `pauser` to remove agents that cannot be stopped, `custody` to send what the API asks
for, `sponsor` to send sponsored buys.

A role's key stands in the environment (a local chain only), in an encrypted keystore, or with a
remote signer; in one of these places, never two. No role has one = dry run. Built by keeper.main
alone (law 4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from core.chain.remote_signer import ANSWER_S, RemoteSigner
from core.chain.signer import Signer, local_signer, secret_of
from core.errors import InvalidParameterError
from core.hexes import read_account
from keeper.signing import require_allowed
from keeper.state import Role

LOOPBACK = ("127.0.0.1", "::1", "localhost")
PREFIXES = {
    Role.KEEPER: "KEEPER",
    Role.STOP: "KEEPER_STOP",
    Role.PAUSER: "KEEPER_PAUSER",
    Role.CUSTODY: "CUSTODY_GAS",
    Role.SPONSOR: "SPONSOR",
}  # of the settings' names
ALONE = {
    Role.STOP: "a key for stops alone can't mark",
    Role.PAUSER: "a pauser's key alone can neither mark nor stop",
    Role.CUSTODY: "a key for the gas of requests alone can neither mark nor stop",
    Role.SPONSOR: "a sponsor's key alone can neither mark nor stop",
}
ACCOUNTS = {
    Role.KEEPER: "the keeper's own account",
    Role.STOP: "the account of the stops",
    Role.PAUSER: "the pauser's account",
    Role.CUSTODY: "the account of transfers",
}


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


def signers_of(places: Mapping[Role, KeyPlace]) -> dict[Role, Signer]:
    """The roles that have a key.

    Nothing is asked over the network. Errors: InvalidParameterError naming the variable.
    """
    signers = {
        role: signer
        for role, place in places.items()
        if (signer := _signer_of(PREFIXES[role], place)) is not None
    }
    for role, why in ALONE.items():
        if role in signers and Role.KEEPER not in signers:
            raise InvalidParameterError(
                f"{PREFIXES[role]}_*",
                f"{why}; set the keeper's own key too (KEEPER_KEYSTORE or "
                "KEEPER_REMOTE_SIGNER_URL)",
            )
    owners: dict[str, Role] = {}
    for role in (one for one in PREFIXES if one in signers):
        other = owners.setdefault(signers[role].address, role)
        if other is not role:
            raise InvalidParameterError(
                f"{PREFIXES[role]}_*",
                f"this is {ACCOUNTS[other]}; two keys of one account share its nonces",
            )
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
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidParameterError(f"{prefix}_REMOTE_SIGNER_URL", "write http(s)://host:port")
    try:
        address = read_account(place.remote_address)
    except ValueError as error:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_ADDRESS", f"name the account that it signs with: {error}"
        ) from error
    token = None if place.remote_token_file is None else _token(prefix, place.remote_token_file)
    if token is not None and parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise InvalidParameterError(
            f"{prefix}_REMOTE_SIGNER_URL", "a token may be sent over https only; write https://"
        )
    return RemoteSigner(url, address, token=token, answer_s=place.remote_answer_s)


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
