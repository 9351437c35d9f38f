"""The operations of the area reserve: the token's state and quotes, references, conversions."""

from api.areas.reserve.service import token
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, Read, Reason, Write
from api.kernel.scopes import ANY_SCOPE
from api.kernel.tool import Profile, Tool, ToolKind

EXAMPLE_REF = "0x6d1f0f5c3b5f6f9a1e2d3c4b5a69788796a5b4c3d2e1f0011223344556677889"
AREA = Area(
    name="reserve",
    about="The reserve token: a token backed by USDC, and its conversion to credit.",
    operations=(
        Read(
            key="reserve.config",
            path="/reserve/config",
            auth=ANYBODY,
            summary="Read the reserve token's contracts, network and constants.",
            handler=token.config,
            refuses=("reserve_not_deployed",),
        ),
        Read(
            key="reserve.state",
            path="/reserve/state",
            auth=ANYBODY,
            summary="Read the token's prices and how well it is covered by its reserve.",
            more="As of the newest block that the service has read; prices and ratios only, no "
            "absolute amounts.",
            handler=token.state,
            refuses=("reserve_not_deployed", "reserve_unknown"),
            tool=Tool("reserve_state", "Read the reserve token", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="reserve.quote",
            path="/reserve/quote",
            auth=ANYBODY,
            summary="Read how many tokens a purchase would mint now, exact to the last unit.",
            more="Computed as the contract does, from its state at the answer's block.",
            handler=token.quote,
            refuses=("reserve_not_deployed", "reserve_unknown"),
            tool=Tool(
                "reserve_quote", "Quote a purchase of tokens", ToolKind.READ, Profile.CONNECTOR
            ),
        ),
        Read(
            key="reserve.me",
            path="/reserve/me",
            auth=BY_KEY,
            summary="Read your reference, your conversions and your wallet's purchases.",
            handler=token.me,
        ),
        Read(
            key="reserve.conversions",
            path="/reserve/me/conversions",
            auth=BY_KEY,
            summary="Page through your conversions: your wallet's own, then those that others "
            "made for you.",
            more="Each part is newest first; conversions by others never push your own off a page.",
            handler=token.own_conversions,
        ),
        Read(
            key="reserve.purchases",
            path="/reserve/me/purchases",
            auth=BY_KEY,
            summary="Page through your wallet's purchases: those it paid for, then those that "
            "others paid for.",
            more="Each part is newest first.",
            handler=token.own_purchases,
        ),
        Write(
            key="reserve.issue_ref",
            path="/reserve/me/ref",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Get your account_ref, which a conversion names so that its credits reach you.",
            more="Every call returns the same reference.",
            handler=token.issue_ref,
            idempotent=True,
        ),
        Read(
            key="reserve.known_ref",
            path="/reserve/refs/{account_ref}",
            auth=ANYBODY,
            summary="Check that a reference belongs to an account, before burning tokens for it.",
            handler=token.known_ref,
        ),
        Write(
            key="reserve.claim",
            path="/reserve/me/claims",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Claim conversions that your linked wallet made for an unregistered reference.",
            more="The conversions are credited within seconds, or once their block is safe; "
            "later ones by this wallet for this reference too.",
            handler=token.claim,
            example={"account_ref": EXAMPLE_REF},
            refuses=(
                "wallet_not_linked",
                "ref_registered",
                "claimed_by_another",
                "not_your_conversion",
                "nothing_to_claim",
            ),
            idempotent=True,
        ),
    ),
    reasons={
        "reserve_not_deployed": Reason(
            404, False, "service", (), "This service has no reserve token."
        ),
        "reserve_unknown": Reason(
            503,
            True,
            "service",
            ("reserve.config",),
            "Not all of the token's events have been read yet, so its price is unknown; ask "
            "again in a minute, or ask the contract itself.",
        ),
        "ref_registered": Reason(
            409,
            False,
            "caller",
            ("reserve.me",),
            "account_ref: it is an account's reference; conversions for it are credited to "
            "that account automatically.",
        ),
        "claimed_by_another": Reason(
            409,
            False,
            "caller",
            ("reserve.issue_ref",),
            "account_ref: another account claimed what your wallet converts for it before "
            "this wallet was yours; convert to your own account_ref.",
        ),
        "not_your_conversion": Reason(
            403,
            False,
            "caller",
            ("reserve.me",),
            "account_ref: the conversions held for it were made by wallets other than the "
            "one you linked.",
        ),
        "nothing_to_claim": Reason(
            409,
            False,
            "caller",
            ("reserve.me",),
            "account_ref: nothing that your linked wallet converted is held for it.",
        ),
    },
    capabilities=("reserve",),
)
