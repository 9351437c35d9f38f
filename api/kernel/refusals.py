"""Refusals: the reasons of the kernel, and the body that a refusal becomes.

An area adds its own reasons (api.kernel.operation.Area).

Laws
- A reason's status, retry_safe, who_fixes and default next calls are declared once, here or in the
  one area that refuses with it.
- A refusal with a time is retry_safe, whatever its reason: the same call works from then on.
- A next call is callable as written: its ids are filled and its body is valid, or it is left out
  (docs/rules.md#next-calls).
- The body is {"detail": sentence, ..., "service": {...}}; which refusals carry `service` is said in
  docs/rules.md#refusal-block.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import ceil
from typing import Any
from urllib.parse import quote

from api.kernel.auth import ANYBODY, EVERY, Credential
from api.kernel.built import BuiltBody
from api.kernel.catalogue import Catalogue
from api.kernel.operation import NextCall, Operation, Reason, Refusal
from api.kernel.outcome import Outcome
from core.errors import (
    InvalidNumberError,
    InvalidParameterError,
    MandateError,
    SettleGraceError,
    WrongStatusError,
)
from core.times import instant_text, next_day, whole_second

LAST_RESORT = "discovery.catalog"
PAYABLE_HEADER = "X-Payable"  # none: a 402 where nothing can be paid
ALWAYS_WITH_BLOCK = (401, 402, 429)
SCOPE_REFUSAL = "agent_key_scope"  # carries the block on every route (docs/rules.md#scope-refusals)
CREDENTIAL_REFUSAL = "auth_invalid"
# one, of RFC 6750: an agent's key is taken as a bearer token too
CHALLENGE = 'Bearer realm="mandate-wallet"'
CHALLENGES = {CREDENTIAL_REFUSAL: f'{CHALLENGE}, error="invalid_token"'}
MAY_BE_NONE = [auth.name for auth in EVERY if Credential.NOTHING in auth.takes]
SEGMENTS = "path"  # the placeholder that matches several segments

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")
_NAME_OF_FILE = re.compile(r"\{(\w+)\}(?=\.)")


REASONS: Mapping[str, Reason] = {
    "auth_required": Reason(
        401,
        next_calls=("identity.connect",),
        example="Only the agent can make this call; send the agent's key in X-SVC-User-Key.",
    ),
    "auth_invalid": Reason(
        401,
        next_calls=("identity.connect",),
        example=(
            "The key in X-SVC-User-Key is not valid; send a live one, or send the agent's "
            "recovery_code to /auth/agent/recover."
        ),
    ),
    "scope_denied": Reason(
        403,
        who_fixes="owner",
        next_calls=("agents.scopes",),
        example="This key lacks the scope tx; its owner can grant it.",
    ),
    "not_owner": Reason(
        403,
        who_fixes="owner",
        example="Agent 1001 is not yours; only its owner can read and replace its policy.",
    ),
    "not_found": Reason(
        404, next_calls=("mandates.list",), example="You have no mandate m_abcdefghij."
    ),
    "wrong_status": Reason(
        409,
        next_calls=("mandates.read",),
        example="The mandate is stopped; an update needs a draft.",
    ),
    "invalid_parameter": Reason(
        400, example="cursor: send the next_cursor of the previous page, or leave it out."
    ),
    "invalid_number": Reason(
        400, example="amount_usdc: write a decimal with at most 6 decimals, such as 12.500000."
    ),
    "insufficient_idle": Reason(
        409, who_fixes="agent", example="The report takes out 12.500000 but only 0.000000 is idle."
    ),
    "signature_invalid": Reason(
        400,
        next_calls=("mandates.terms",),
        example=(
            "signature: it is not the owner's over these terms; sign the typed data of GET "
            ".../terms."
        ),
    ),
    "idempotency_key_reused": Reason(
        409,
        example=(
            "This Idempotency-Key was already used with another body; use a new key, or send "
            "the first body again."
        ),
    ),
    "idempotency_in_flight": Reason(
        409,
        retry_safe=True,
        example="A call with this Idempotency-Key is in progress; send it again in a moment.",
    ),
    "rate_limited": Reason(
        429,
        retry_safe=True,
        example="Today's 2000 calls are used up; call again from 2026-02-01T00:00:00Z on.",
    ),
    "too_many_streams": Reason(
        429,
        retry_safe=True,
        example=("You have 8 streams open, the limit; close one, or let several pages share one."),
    ),
    "temporarily_unavailable": Reason(
        503,
        retry_safe=True,
        who_fixes="service",
        next_calls=("discovery.ready",),
        example="The database does not answer or is busy; send the call again in a moment.",
    ),
    "schema_not_applied": Reason(
        503,
        retry_safe=True,
        who_fixes="service",
        next_calls=("discovery.ready",),
        example="The database lacks this version's tables; its operator must apply the migrations.",
    ),
    "agent_key_scope": Reason(
        403,
        who_fixes="owner",
        next_calls=("agents.scopes",),
        example="This key lacks the scope read; its owner can grant it.",
    ),
    "secret_field_refused": Reason(
        400, example="api_secret: this service never takes keys or secrets; leave the field out."
    ),
    "wallet_not_linked": Reason(
        409,
        next_calls=("identity.link", "identity.wallet_status"),
        example="No wallet is linked to your account; link your own wallet first.",
    ),
    "account_locked": Reason(
        403,
        who_fixes="agent",
        next_calls=("safety.notices", "safety.violations"),
        example=(
            "A case is open against your account; answer it by its deadline, and call again once it is "
            "closed."
        ),
    ),
    "tier_required": Reason(
        403,
        who_fixes="agent",
        next_calls=("subscriptions.preview", "subscriptions.subscribe", "subscriptions.account"),
        example="A priority target needs a Tier 1 subscription; you have Free.",
    ),
    "not_authorized": Reason(403, who_fixes="service", example="not authorized"),
    "conflict_of_interest": Reason(
        403,
        who_fixes="service",
        example="Claim 7 is yours, or belongs to an agent that your wallet owns or funded; another "
        "operator must decide on it.",
    ),
    "unknown_route": Reason(404),
    "method_not_allowed": Reason(405),
    "body_too_large": Reason(413, example="The body is larger than 262144 bytes; send less."),
    "unsupported_media_type": Reason(
        415, example="The body is not JSON; send it with Content-Type: application/json."
    ),
    "payment_required": Reason(
        402,
        next_calls=("identity.connect", "credits.prices"),
        example="This read costs 1 credit with an agent's key, or a payment described in accepts.",
    ),
    "credit_insufficient": Reason(
        402,
        retry_safe=True,
        who_fixes="agent",
        next_calls=("tasks.browse", "credits.balance", "credits.prices"),  # first what earns credit
        example=(
            "Today's free reads are used up and this read costs 1 credit; you have 0. Pay as "
            "described in accepts."
        ),
    ),
    "payment_invalid": Reason(
        402,
        next_calls=("credits.prices",),
        example="PAYMENT-SIGNATURE: authorization.value is 9999; pay exactly 10000 base units.",
    ),
    "payment_already_used": Reason(
        402,
        next_calls=("credits.prices",),
        example="This payment has already paid for a call, or is paying for one now; sign a new "
        "payment for this one.",
    ),
    "settlement_pending": Reason(
        503,
        retry_safe=True,
        who_fixes="service",
        example=(
            "The payment is being settled and is not on the chain yet; send the same call with "
            "the same payment again."
        ),
    ),
    "internal_error": Reason(500, who_fixes="service"),
    "tw_feature_disabled": Reason(
        404, who_fixes="service", example="This feature is switched off."
    ),
}


def feature_off(detail: str) -> Refusal:
    """Of calls to a part that this deployment has not set up. `detail` names the settings."""
    return Refusal("tw_feature_disabled", detail, extra={"code": "tw_feature_disabled"})


def used_up_today(
    detail: object, then: str, counted: str, now: datetime, *next_calls: str | NextCall
) -> Refusal:
    """429 until the next UTC day. `then`: what works from there on; `counted`: what none is left of."""
    again = next_day(now)
    return Refusal(
        "rate_limited",
        f"{detail}; {then} from {instant_text(again)} on.",
        remaining={counted: 0},
        retry_at=again,
        next_calls=next_calls,
    )


def lacks_credits(detail: str, needed: int, available: int, *next_calls: str | NextCall) -> Refusal:
    """402 where credit alone can pay. `available`: of the credit that counts here; `next_calls` go
    behind those that earn some.
    """
    earning = REASONS["credit_insufficient"].next_calls
    return Refusal(
        "credit_insufficient",
        detail,
        remaining={"credits": available},
        block=credit_counts(needed, available),
        next_calls=(*earning, *next_calls),
    )


def credit_counts(needed: int, available: int) -> dict[str, Any]:
    """What each refusal for lack of credit has in its block."""
    shortfall = max(0, needed - available)
    return {"credit": {"needed": needed, "available": available, "shortfall": shortfall}}


def refusal_of(error: MandateError) -> Refusal:
    """The refusal that a domain error becomes; both name the field and its rule."""
    match error:
        case InvalidNumberError():
            return Refusal("invalid_number", f"{error.field}: {error.rule}.")
        case InvalidParameterError():
            return Refusal("invalid_parameter", f"{error.field}: {error.rule}.")
        case WrongStatusError():
            return Refusal("wrong_status", f"{error}.")
        case SettleGraceError():
            return Refusal(
                "wrong_status", f"{error}.", retry_at=datetime.fromtimestamp(error.until, UTC)
            )
    return Refusal("invalid_parameter", str(error))


def has_block_everywhere(reason: str, status: int) -> bool:
    """Whether this refusal has the block on routes whose others are a sentence alone."""
    return status in ALWAYS_WITH_BLOCK or reason == SCOPE_REFUSAL


def refused(
    refusal: Refusal,
    operation: Operation | None,
    ids: Mapping[str, str],
    now: datetime,
    catalogue: Catalogue,
) -> Outcome:
    """The answer to a refused call.

    `ids` fills next calls: the path segment before a placeholder -> its value.

    `operation` None: no route was found. A refusal with a time carries Retry-After in whole
    seconds, rounded up.
    """
    reason = catalogue.reasons[refusal.reason]
    status = refusal.status or reason.status
    body: dict[str, Any] = {"detail": str(refusal), **refusal.extra}
    if status == 409:
        body.setdefault("error", refusal.reason)
    if operation is None or operation.block or has_block_everywhere(refusal.reason, status):
        body["service"] = _block(refusal, reason, ids, catalogue)
    headers = dict(refusal.headers)
    if status == 401:
        headers["WWW-Authenticate"] = CHALLENGES.get(refusal.reason, CHALLENGE)
    if status == 402 and "accepts" not in refusal.extra:
        headers[PAYABLE_HEADER] = "none"
    if refusal.retry_at is not None:
        headers["Retry-After"] = str(max(1, ceil((refusal.retry_at - now).total_seconds())))
    return Outcome(status, BuiltBody(body), headers)


def _block(
    refusal: Refusal, reason: Reason, ids: Mapping[str, str], catalogue: Catalogue
) -> dict[str, Any]:
    calls = next_items(
        reason.next_calls if refusal.next_calls is None else refusal.next_calls, ids, catalogue
    )
    if refusal.reason == CREDENTIAL_REFUSAL:
        # with the credential that is not valid a call would be refused again
        calls = [
            call | {"auth": ANYBODY.name} if call["auth"] in MAY_BE_NONE else call for call in calls
        ]
    block: dict[str, Any] = {
        "reason": refusal.reason,
        "error": refusal.reason,
        "retry_safe": reason.retry_safe or refusal.retry_at is not None,
        "who_fixes": reason.who_fixes,
        "next": calls,
    }
    if refusal.remaining is not None:
        block["remaining"] = refusal.remaining
    if refusal.retry_at is not None:
        block["retry_at"] = instant_text(whole_second(refusal.retry_at))
    if refusal.missing is not None:
        block["missing"] = refusal.missing
    return {**block, **refusal.block}


def next_items(
    calls: tuple[str | NextCall, ...], ids: Mapping[str, str], catalogue: Catalogue
) -> list[dict[str, Any]]:
    """Calls as a client can make them, in order, the catalogue of calls last."""
    return call_items((*calls, LAST_RESORT), ids, catalogue)


def call_items(
    calls: tuple[str | NextCall, ...], ids: Mapping[str, str], catalogue: Catalogue
) -> list[dict[str, Any]]:
    """Calls as a client can make them, in order; one that cannot be filled in is left out."""
    wanted = [NextCall(call) if isinstance(call, str) else call for call in calls]
    return [item for call in wanted for item in _item(call, ids, catalogue)]


def _item(call: NextCall, ids: Mapping[str, str], catalogue: Catalogue) -> Iterator[dict[str, Any]]:
    operation = catalogue.by_key[call.key]
    body = operation.example if call.body is None else call.body
    path = fill_path(operation.path, call.ids, ids)
    if path is None or (operation.takes_body and body is None):
        return
    item = {
        "method": operation.method,
        "path": path,
        "auth": operation.auth.name,
        "cost": operation.price_credits if call.cost is None else call.cost,
    }
    yield item if body is None else item | {"body": dict(body)}


def fill_path(path: str, by_name: Mapping[str, str], by_segment: Mapping[str, str]) -> str | None:
    """`path` with its placeholders filled by name, else by the segment before each; None when one
    can't be.
    """
    values = {
        name: by_name.get(name) or by_segment.get(segment) for segment, name in _placeholders(path)
    }
    if None in values.values():
        return None
    return _PATH_NAME.sub(
        lambda found: quote(str(values[found[1]]), safe="/" if found[1] == SEGMENTS else ""), path
    )


def url_of(base_url: str, operation: Operation, fields: Mapping[str, Any]) -> str:
    """In the only form that a payment is taken for: the path's values alone, quoted in one way."""
    path = fill_path(operation.path, {name: str(value) for name, value in fields.items()}, {})
    return f"{base_url}{path}"


def route_path(path: str) -> str:
    """`path` as Starlette's routes have it: {path} takes several segments; so does {name}.md, for
    its call to refuse.
    """
    path = _NAME_OF_FILE.sub(r"{\1:path}", path)
    return path.replace(f"{{{SEGMENTS}}}", f"{{{SEGMENTS}:path}}")


def path_ids(path: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """What a call's own path says: the segment before each placeholder -> the value sent; a tool
    may send what is no id.
    """
    return {
        segment: str(fields[name])
        for segment, name in _placeholders(path)
        if isinstance(fields.get(name), str | int)
    }


def _placeholders(path: str) -> list[tuple[str, str]]:
    """(segment before, name) of each placeholder: `/mandates/{id}/events` has (`mandates`,
    `id`).
    """
    return [
        (path[: found.start()].rstrip("/").rpartition("/")[2], found[1])
        for found in _PATH_NAME.finditer(path)
    ]
