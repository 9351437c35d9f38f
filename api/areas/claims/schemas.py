"""Commands and answers of claims about tokens (docs/claims.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.claims.rules.claims import (
    CLAIM_CHARACTERS_MOST,
    NOTE_CHARACTERS_MOST,
    ClaimKind,
)
from api.areas.claims.rules.tickers import TICKER_CHARACTERS_MOST
from api.kernel.fields import Id, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText, HttpsUrl

KindWord = Literal["project", "backer", "event", "risk", "other"]
assert set(KindWord.__args__) == set(ClaimKind)  # type: ignore[attr-defined]  # of a Literal

# what api.areas.claims.rules.claims.claimed_ticker refuses, for JSON Schema
NO_SPACE_AND_NO_SIGN = r"""^[^\s"#%&'()*,./:;<>?\[\\\]`{|}]+$"""
Ticker = Annotated[
    str,
    FreeText(TICKER_CHARACTERS_MOST),
    Field(
        description="the token's ticker, in any case: BTC",
        json_schema_extra={"pattern": NO_SPACE_AND_NO_SIGN},
    ),
]


class MakeClaim(Command):
    base: Ticker
    claim: Annotated[
        str,
        FreeText(CLAIM_CHARACTERS_MOST),
        Field(description="one line of plain text"),
    ]
    source_url: Annotated[
        HttpsUrl,
        Field(
            description="a public https link that supports the claim; the service never fetches it",
        ),
    ]
    kind: KindWord = Field(default="other", description="what the claim is about")


class ClaimsQuery(Paged):
    """The newest first."""

    base: Ticker | None = None


class ClaimVerdict(Command):
    id: Annotated[Id, Field(description="the claim's id")]
    verdict: Literal["verified", "rejected"]
    note: Annotated[str, FreeText(NOTE_CHARACTERS_MOST, lines=True)] | None = Field(
        default=None, description="the reason; only operators can read it"
    )


class CommunityClaim(AnswerBody):
    claim_id: int
    base: str
    kind: KindWord
    claim: str
    source_url: str
    state: Literal["unverified", "verified"]
    is_fact: Literal[False] = Field(description="always false: a claim never counts as a fact")
    agent_id: int = Field(description="id of the agent that made the claim")
    made_at: InstantText
    decided_at: InstantText | None = Field(
        description="when an operator decided; null: not decided yet"
    )


class CommunityClaims(AnswerBody):
    claims: list[CommunityClaim]
    next_cursor: str | None


class DecidedClaim(AnswerBody):
    claim_id: int
    state: Literal["verified", "rejected"]
    decided_at: str
