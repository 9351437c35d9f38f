"""Claims that the community makes of tokens (docs/claims.md).

    unverified --an operator saw it at its source--> verified
        '-----------an operator did not-----------> rejected      either verdict may be changed later

Laws
- A claim without a source is none: an https link that a reader can open. Nothing here opens it.
- A rejected claim is shown nowhere, and who made it does not make it again. An unverified one is shown as what it is: not a fact.
- A person has at most so many claims a UTC day: an owner with all agents, or an agent without owner.
- A group without standing (docs/payouts.md#groups) has so many that wait for a verdict.
"""

import hashlib
import unicodedata
from enum import StrEnum
from typing import Final

from api.areas.claims.rules.tickers import TICKER_CHARACTERS_MOST, ticker_of
from core.errors import InvalidParameterError, MandateError
from core.texts import is_hidden
from core.urls import canonical_https

CLAIM_CHARACTERS_MOST: Final = 500
BACKER_CHARACTERS_MOST: Final = 64
NOTE_CHARACTERS_MOST: Final = 1_000
VERIFIED_SHOWN: Final = 20
UNVERIFIED_SHOWN: Final = 10
_NO_TICKER: Final = frozenset("/\\.%?#\"'`<>[]{}()|*:,;&")


class ClaimKind(StrEnum):
    """What a claim is about."""

    PROJECT = "project"
    BACKER = "backer"
    EVENT = "event"
    RISK = "risk"
    OTHER = "other"


class ClaimState(StrEnum):
    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    REJECTED = "rejected"


PUBLISHED: Final = (ClaimState.UNVERIFIED, ClaimState.VERIFIED)


class ClaimsUsedUpError(MandateError):
    """The person had as many claims as a UTC day allows."""

    def __init__(self, most: int, *, is_owned: bool) -> None:
        whose = "This owner's agents" if is_owned else "This agent"
        super().__init__(f"{whose} already made {most} claims today, the limit per UTC day")
        self.most = most


class OpenClaimsUsedUpError(MandateError):
    """The group has as many claims that wait for a verdict as it may. The text is no sentence yet."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} claims of your group (your owner, network address or wallets) are "
            "already waiting for a verdict, the limit without standing"
        )


class SameClaimError(MandateError):
    """Somebody said the same of the token, and it is not rejected; or this person's was."""

    def __init__(self, claim_id: int, *, is_rejected: bool = False) -> None:
        but = " and was rejected" if is_rejected else ""
        super().__init__(
            f"claim: claim {claim_id} already says the same{but}; claim something else"
        )
        self.claim_id = claim_id


class ClaimStateError(MandateError):
    """The verdict is the one that the claim has."""

    def __init__(self, claim_id: int, state: ClaimState) -> None:
        super().__init__(
            f"Claim {claim_id} is already {state}; send another verdict, or leave the verdict out"
        )
        self.claim_id = claim_id
        self.state = state


def claimed_ticker(field: str, sent: str) -> str:
    """The ticker of its note, without spaces and punctuation. Errors: InvalidParameterError."""
    ticker = ticker_of(sent, field)
    if any(one.isspace() or one in _NO_TICKER for one in ticker):
        raise InvalidParameterError(
            field,
            f"write a ticker such as BTC: 1 to {TICKER_CHARACTERS_MOST} characters, no space, and none "
            f"of {''.join(sorted(_NO_TICKER))}",
        )
    return ticker


def claim_source(url: str) -> str:
    """The link as it is kept. Errors: InvalidParameterError."""
    return canonical_https("source_url", url)


def backer_named(kind: ClaimKind, claim: str) -> str | None:
    """Whom a claim of a backer names: all of it, where it is short enough for a name. None: nobody."""
    return claim if kind is ClaimKind.BACKER and len(claim) <= BACKER_CHARACTERS_MOST else None


def same_words(claim: str) -> str:
    """A digest of what two claims have in common that say the same: letters without case, width and
    what cannot be seen, spaces as one.
    """
    letters = unicodedata.normalize("NFKC", claim).casefold()
    shown = "".join(one for one in letters if not is_hidden(one))
    return hashlib.sha256(" ".join(shown.split()).encode()).hexdigest()
