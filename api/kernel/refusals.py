"""Refusals: one table of reasons, and the body that a refusal becomes.

Laws
- A reason's status, retry_safe, who_fixes and default next calls stand in REASONS and nowhere else.
- A next call is callable as written: its ids are filled and its body is valid, or it is left out (docs/rules.md#next-calls).
- The body is {"detail": sentence, ..., "service": {...}}; which refusals carry `service` is said in docs/rules.md#refusal-block.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any
from urllib.parse import quote

from api.catalog import ROWS, Row
from api.kernel.operation import NextCall, Outcome, Refusal
from core.errors import InvalidNumberError, InvalidParameterError, MandateError, SettleGraceError, WrongStatusError

LAST_RESORT = "discovery.catalog"
PAYABLE_HEADER = "X-Payable"  # none: a 402 where nothing can be paid
ALWAYS_WITH_BLOCK = (401, 402, 429)
SCOPE_REFUSAL = "agent_key_scope"  # carries the block on every route (docs/rules.md#scope-refusals)
SEGMENTS = "path"  # the placeholder that stands for several segments

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")


@dataclass(frozen=True, slots=True)
class Reason:
    """`retry_safe`: the same request can succeed later unchanged. `who_fixes`: caller, agent, owner or service."""

    status: int
    retry_safe: bool
    who_fixes: str
    next_calls: tuple[str, ...] = ()


REASONS: Mapping[str, Reason] = {
    # docs/rules.md#wallet-reasons
    "auth_required": Reason(401, False, "caller", ("identity.connect",)),
    "auth_invalid": Reason(401, False, "caller", ("identity.connect",)),
    "scope_denied": Reason(403, False, "owner", ("agents.scopes",)),
    "spend_limit_reached": Reason(403, True, "owner", ("agents.scopes",)),
    "not_owner": Reason(403, False, "owner"),
    "not_found": Reason(404, False, "caller", ("mandates.list",)),
    "wrong_status": Reason(409, False, "caller", ("mandates.read",)),
    "invalid_parameter": Reason(400, False, "caller"),
    "invalid_number": Reason(400, False, "caller"),
    "agent_not_designated": Reason(409, False, "owner", ("mandates.offers",)),
    "agent_not_accepting": Reason(409, False, "owner", ("mandates.policy",)),
    "agent_owner_mismatch": Reason(403, False, "owner", ("agents.mine",)),
    "insufficient_idle": Reason(409, False, "agent"),
    "mandate_budget_exceeded": Reason(402, True, "owner", ("mandates.read",)),
    "signature_invalid": Reason(400, False, "caller", ("mandates.terms",)),
    "idempotency_key_reused": Reason(409, False, "caller"),
    "idempotency_in_flight": Reason(409, True, "caller"),
    "rate_limited": Reason(429, True, "caller"),
    "temporarily_unavailable": Reason(503, True, "service", ("discovery.ready",)),
    "schema_not_applied": Reason(503, True, "service", ("discovery.ready",)),
    # docs/rules.md#other-reasons, and the edge
    "agent_key_scope": Reason(403, False, "owner", ("agents.scopes",)),
    "secret_field_refused": Reason(400, False, "caller"),
    "duplicate_transfer": Reason(409, False, "caller"),
    "record_short": Reason(503, True, "service"),
    "tw_feature_disabled": Reason(404, False, "service"),
    "server_guard": Reason(403, False, "agent"),
    "wallet_taken": Reason(409, False, "caller"),
    "account_has_wallet": Reason(409, False, "caller"),
    "wallet_not_linked": Reason(409, False, "caller", ("identity.link", "identity.wallet_status")),
    "wallet_waits": Reason(409, True, "owner", ("custody.transfers",)),
    "owned_agents_limit": Reason(409, False, "owner"),
    "external_id_taken": Reason(409, False, "caller"),
    "wallet_required": Reason(409, False, "agent"),
    "case_open": Reason(409, False, "caller"),
    "not_authorized": Reason(403, False, "service"),
    "origin_not_allowed": Reason(403, False, "caller"),
    "unknown_route": Reason(404, False, "caller"),
    "method_not_allowed": Reason(405, False, "caller"),
    "body_too_large": Reason(413, False, "caller"),
    "unsupported_media_type": Reason(415, False, "caller"),
    # payments of reads (docs/rules.md#kinds-of-402)
    "payment_required": Reason(402, False, "caller", ("identity.connect", "credits.prices")),
    "credit_insufficient": Reason(402, True, "agent", ("credits.balance", "credits.prices")),
    "payment_invalid": Reason(402, False, "caller", ("credits.prices",)),
    "payment_already_used": Reason(402, False, "caller", ("credits.prices",)),
    "settlement_pending": Reason(503, True, "service"),
    "internal_error": Reason(500, False, "service"),
}


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
            return Refusal("wrong_status", f"{error}.", retry_at=datetime.fromtimestamp(error.until, UTC))
    return Refusal("invalid_parameter", str(error))


def refused(refusal: Refusal, row: Row | None, ids: Mapping[str, str], now: datetime) -> Outcome:
    """The answer to a refused call. `ids` fills next calls: the path segment before a placeholder -> its value.

    `row` None: no route was found. A refusal with a time carries Retry-After in whole seconds, rounded up.
    """
    reason = REASONS[refusal.reason]
    status = refusal.status or reason.status
    body: dict[str, Any] = {"detail": str(refusal), **refusal.extra}
    if row is None or row.block or status in ALWAYS_WITH_BLOCK or refusal.reason == SCOPE_REFUSAL:
        body["service"] = _block(refusal, reason, ids)
    headers = dict(refusal.headers)
    if status == 402 and "accepts" not in refusal.extra:
        headers[PAYABLE_HEADER] = "none"
    if refusal.retry_at is not None:
        headers["Retry-After"] = str(max(1, ceil((refusal.retry_at - now).total_seconds())))
    return Outcome(status, body, headers)


def _block(refusal: Refusal, reason: Reason, ids: Mapping[str, str]) -> dict[str, Any]:
    block: dict[str, Any] = {
        "reason": refusal.reason,
        "error": refusal.reason,
        "retry_safe": reason.retry_safe,
        "who_fixes": reason.who_fixes,
        "next": next_items(reason.next_calls if refusal.next_calls is None else refusal.next_calls, ids),
    }
    if refusal.remaining is not None:
        block["remaining"] = refusal.remaining
    if refusal.retry_at is not None:
        block["retry_at"] = _rfc3339(refusal.retry_at)
    if refusal.missing is not None:
        block["missing"] = refusal.missing
    return block | refusal.block


def next_items(calls: tuple[str | NextCall, ...], ids: Mapping[str, str]) -> list[dict[str, Any]]:
    """Calls as a client can make them, in order, the catalogue of calls last."""
    wanted = [NextCall(call) if isinstance(call, str) else call for call in (*calls, LAST_RESORT)]
    return [item for call in wanted for item in _item(call, ids)]


def _item(call: NextCall, ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    row = ROWS.get(call.key)
    if row is None:
        return
    body = row.example if call.body is None else call.body
    path = fill_path(row.path, call.ids, ids)
    if path is None or (row.takes_body and body is None):
        return
    item = {"method": row.method, "path": path, "auth": row.auth.value, "cost": row.price_credits}
    yield item if body is None else item | {"body": dict(body)}


def fill_path(path: str, by_name: Mapping[str, str], by_segment: Mapping[str, str]) -> str | None:
    """`path` with its placeholders filled by name, else by the segment before each; None when one can't be."""
    values = {name: by_name.get(name) or by_segment.get(segment) for segment, name in _placeholders(path)}
    if None in values.values():
        return None
    return _PATH_NAME.sub(lambda found: quote(str(values[found[1]]), safe="/" if found[1] == SEGMENTS else ""), path)


def path_ids(path: str, fields: Mapping[str, Any]) -> dict[str, str]:
    """What a call's own path says: the segment before each placeholder -> the value sent; a tool may send what is no id."""
    return {segment: str(fields[name]) for segment, name in _placeholders(path) if isinstance(fields.get(name), str | int)}


def _placeholders(path: str) -> list[tuple[str, str]]:
    """(segment before, name) of each placeholder: `/mandates/{id}/events` has (`mandates`, `id`)."""
    return [(path[: found.start()].rstrip("/").rpartition("/")[2], found[1]) for found in _PATH_NAME.finditer(path)]


def _rfc3339(at: datetime) -> str:
    """Whole seconds, rounded up: a caller that waits until then has waited long enough."""
    whole = at.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1 if at.microsecond else 0)
    return whole.isoformat().replace("+00:00", "Z")
