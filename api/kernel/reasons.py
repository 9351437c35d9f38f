"""Which refusals an operation can answer: what the kernel refuses follows from its row, the rest its service declares.

OpenAPI states these and no others. Defects of ours (500) and calls that no route takes (404 unknown_route, 405) belong to no
operation.
"""

from collections.abc import Iterator

from api.catalog import Auth, Family
from api.kernel.operation import Operation
from api.kernel.refusals import REASONS

FREE = (Auth.NONE, Auth.NONE_OR_OWNER, Auth.OPTIONAL)
BY_OWNER = (Auth.OWNER, Auth.KEY_OR_OWNER, Auth.KEY_OWNER_OR_BEARER)  # an operator's session is none
TAKES_BODY = ("POST", "PUT", "PATCH")


def reasons_of(operation: Operation) -> tuple[str, ...]:
    """Each once, in the order of the table of reasons."""
    possible = {*_of_every_call(), *_of_credentials(operation), *_of_input(operation), *_of_payment(operation), *operation.refuses}
    return tuple(reason for reason in REASONS if reason in possible)


def _of_every_call() -> tuple[str, ...]:
    """Any call may carry a credential, which must be valid, and a key, which is counted; any may meet a database that is down."""
    return "auth_invalid", "rate_limited", "temporarily_unavailable", "schema_not_applied"


def _of_credentials(operation: Operation) -> Iterator[str]:
    row = operation.row
    if row.auth not in FREE:
        yield "auth_required"
    if row.auth is Auth.OPERATOR or (row.auth in BY_OWNER and not row.operator_too):
        yield "not_authorized"
    is_wallet = row.family is Family.WALLET
    if row.scope is not None:
        yield "scope_denied" if is_wallet else "agent_key_scope"
    if row.auth is Auth.OWNER and is_wallet:
        yield "scope_denied"


def _of_payment(operation: Operation) -> Iterator[str]:
    if operation.row.price is not None:
        yield from ("payment_required", "credit_insufficient", "payment_invalid", "payment_already_used", "settlement_pending")


def _of_input(operation: Operation) -> Iterator[str]:
    row = operation.row
    yield from ("invalid_parameter", "invalid_number")
    if row.family is Family.WALLET:
        yield "secret_field_refused"
    if "{" in row.path:
        yield "not_found"
    if row.method in TAKES_BODY:
        yield from ("body_too_large", "unsupported_media_type")
    if row.idempotent:
        yield from ("idempotency_key_reused", "idempotency_in_flight")
