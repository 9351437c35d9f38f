"""Keys, session tokens and recovery codes: 256 bits behind a prefix that says what it is, random or
derived.

Derived are those of a call with an idempotency key, so that the same call can answer them again and
nobody need keep them (api/kernel/idempotency.py): HMAC-SHA256 under the pepper of what the caller
alone holds.

Stored is HMAC-SHA256(pepper, token) alone. The tokens are random, so a slow hash would add latency
and no safety; the pepper is outside the database, so that a copy of the database verifies
nothing.
"""

import base64
import hmac
import secrets
from enum import StrEnum


class TokenKind(StrEnum):
    AGENT_KEY = "svc_key_"
    OWNER_SESSION = "svc_own_"
    AGENT_BEARER = "svc_agt_"
    RECOVERY_CODE = "svc_rec_"


def mint(kind: TokenKind) -> str:
    return kind.value + secrets.token_urlsafe(32)


def derived(pepper: bytes, kind: TokenKind, source: bytes) -> str:
    """The same token for the same source; `source` has at least 128 bits that stand in no
    database.
    """
    digest = hmac.digest(
        pepper, b"derived token\n" + kind.value.encode() + b"\n" + source, "sha256"
    )
    return kind.value + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def token_hash(pepper: bytes, token: str) -> bytes:
    """32 bytes; the only form of a token that is stored or looked up."""
    return hmac.digest(pepper, token.encode("utf-8", "surrogateescape"), "sha256")
