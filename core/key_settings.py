"""Where the keys stand that processes sign with (docs/operations/keeper.md): the settings of a key
begin with its name, KEEPER_STOP_KEYSTORE.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, SecretStr, create_model

from core.environment import Account, HttpUrl, optional

SIGN: Final = {
    "keeper": "the keeper's key",
    "keeper_stop": "a second key, for stops",
    "keeper_pauser": "a pauser's key: removes agents that cannot be stopped",
    "custody_gas": "pays starter wallets' gas",
    "sponsor": "sends sponsored buys",
    "x402_settle": "settles payments itself",
    "guard": "signs payments of vaults",
}
OF_THE_API: Final = ("x402_settle", "guard")  # no remote signer signs with these
PLACES: Final[dict[str, tuple[Any, str]]] = {
    "private_key": (SecretStr, "{}; accepted on a local chain only"),
    "keystore": (Path, "encrypted JSON keystore of that key"),
    "keystore_password_file": (Path, "file with that keystore's password"),
    "remote_signer_url": (HttpUrl, "who signs with that key: eth_signTransaction over HTTP"),
    "remote_signer_address": (Account, "the account that it signs with"),
    "remote_signer_token_file": (Path, "file with the bearer token that it asks for"),
}
MEANS_NOTHING_WITHOUT: Final = {
    "keystore_password_file": "keystore",
    "remote_signer_address": "remote_signer_url",
    "remote_signer_token_file": "remote_signer_url",
}
FIELDS: Final[dict[str, Any]] = {
    f"{key}_{place}": (kind | None, optional(says.format(signs)))
    for key, signs in SIGN.items()
    for place, (kind, says) in PLACES.items()
    if key not in OF_THE_API or not place.startswith("remote_signer")
}

if TYPE_CHECKING:

    class KeySettings(BaseModel): ...
else:
    KeySettings = create_model(
        "KeySettings", __config__=ConfigDict(frozen=True, extra="forbid"), **FIELDS
    )
