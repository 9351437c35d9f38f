"""Keys, session tokens and recovery codes: 256 random bits behind a prefix that says what it is.

Stored is HMAC-SHA256(pepper, token) alone. The tokens are random, so a slow hash would add latency and no safety; the
pepper stands outside the database, so that a copy of the database verifies nothing.
"""

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


def token_hash(pepper: bytes, token: str) -> bytes:
    """32 bytes; the only form of a token that is stored or looked up."""
    return hmac.digest(pepper, token.encode("utf-8", "surrogateescape"), "sha256")
