"""No wallet route takes a secret: a body with a secret-like field name, at any depth, is refused
before anything reads it.

Names count, not values; case, dashes, dots, spaces and underscores do not (apiKey, API-KEY and
api_key are one name).
Source: docs/rules.md#secret-fields.
"""

import re
from collections.abc import Iterator
from typing import Any

from api.kernel.operation import Refusal

SECRET_LIKE = (
    "apikey", "apisecret", "secret", "privatekey", "privkey", "passphrase", "password", "passwd",
    "mnemonic", "seedphrase",
    "seedwords", "recoveryphrase", "accesskey", "accesstoken", "authtoken", "bearertoken",
    "refreshtoken", "keystore", "signingkey",
)  # fmt: skip

_NESTS = (dict, list, tuple)
_SEPARATORS = re.compile(r"[^a-z0-9]")
_PRINTABLE = re.compile(r"[^A-Za-z0-9_.-]")


def refuse_secrets(fields: Any) -> None:
    """Errors: Refusal secret_field_refused that names the field, never its value."""
    name = next(_secret_like_names(fields), None)
    if name is not None:
        shown = _PRINTABLE.sub("", name)[:40]
        raise Refusal(
            "secret_field_refused",
            f"{shown}: this service never takes keys or secrets; leave the field out, and "
            "replace the secret if it was a real one.",
        )


def _secret_like_names(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            # all at once first; side by side, other names may form a word too
            if _is_secret_like("".join(here)):
                yield from filter(_is_secret_like, here)
            here = here.values()
        waiting.extend(one for one in here if type(one) in _NESTS and one)


def _is_secret_like(name: str) -> bool:
    bare = _SEPARATORS.sub("", name.lower())
    return any(word in bare for word in SECRET_LIKE)
