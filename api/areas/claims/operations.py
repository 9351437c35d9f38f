"""The operations of the area claims: what the community says of tokens, with a source."""

from api.areas.claims import service
from api.kernel.auth import ANYBODY, BY_KEY, BY_OPERATOR
from api.kernel.operation import Area, CachePolicy, Read, Reason, Write

EXAMPLE = {
    "base": "LINK",
    "kind": "event",
    "claim": "Staking v0.2 opened for everybody on 2023-12-11.",
    "source_url": "https://blog.chain.link/chainlink-staking-v0-2-now-live/",
}
AREA = Area(
    name="claims",
    about="Community claims about tokens, each with a source; none counts as a fact.",
    operations=(
        Write(
            key="claims.make",
            path="/kg/claim",
            auth=BY_KEY,
            scope="tx",
            summary="Make a claim about a token, with a public link as its source.",
            more="The claim is public at once, marked as unverified, until an operator "
            "verifies or rejects it; it never counts as a fact.",
            handler=service.make,
            example=EXAMPLE,
            refuses=("same_claim", "account_locked", "rate_limited", "too_many_open"),
            idempotent=True,
            statuses=(201,),
        ),
        Read(
            key="claims.list",
            path="/kg/claims",
            auth=ANYBODY,
            summary="Page through claims about a token, or about all, newest first.",
            handler=service.page,
            cache=CachePolicy(10),
        ),
        Write(
            key="claims.decide",
            path="/admin/kg/claims/{id}/verdict",
            auth=BY_OPERATOR,
            summary="Verify a claim that you saw at its source, or reject it.",
            handler=service.decide,
            refuses=("conflict_of_interest", "wrong_status", "same_claim"),
            idempotent=True,
        ),
    ),
    reasons={
        "same_claim": Reason(
            409,
            False,
            "caller",
            ("claims.list",),
            "claim: claim 7 already says the same; claim something else.",
        ),
    },
    capabilities=("claims",),
)
