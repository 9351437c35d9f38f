"""Which refusals an operation can answer: what the kernel refuses follows from its row, the rest
its service declares.

OpenAPI states these and no others. Defects of ours (500) and calls that no route takes (404
unknown_route, 405) belong to no operation.
"""

from collections.abc import Iterator

from api.kernel.auth import Credential
from api.kernel.catalogue import Catalogue
from api.kernel.credentials import gives_keys
from api.kernel.operation import Family, Operation

TAKES_BODY = ("POST", "PUT", "PATCH")
# any call may carry a credential, which must be valid, and a key, which is counted; any may meet a
# database that is down
OF_EVERY_CALL = ("auth_invalid", "rate_limited", "temporarily_unavailable", "schema_not_applied")


def reasons_of(operation: Operation, catalogue: Catalogue) -> tuple[str, ...]:
    """Each once, in the order of the table of reasons."""
    possible = {
        *OF_EVERY_CALL,
        *_of_credentials(operation),
        *_of_input(operation),
        *_of_payment(operation),
        *(("too_many_streams",) if operation.streams else ()),
        *operation.refuses,
    }
    return tuple(reason for reason in catalogue.reasons if reason in possible)


def _of_credentials(operation: Operation) -> Iterator[str]:
    takes, is_free = operation.auth.takes, operation.auth.is_free
    if not is_free:
        yield "auth_required"
    # an operator's session is no owner's
    if Credential.OPERATOR in takes or (Credential.OWNER in takes and not is_free):
        yield "not_authorized"
    if gives_keys(operation):  # and has no agent
        yield "not_authorized"
    is_wallet = operation.family is Family.WALLET
    if operation.scope is not None:
        yield "scope_denied" if is_wallet else "agent_key_scope"
    if takes == {Credential.OWNER} and is_wallet:
        yield "scope_denied"


def _of_payment(operation: Operation) -> Iterator[str]:
    if operation.sold is not None:
        yield from (
            "payment_required",
            "credit_insufficient",
            "payment_invalid",
            "payment_already_used",
            "settlement_pending",
        )


def _of_input(operation: Operation) -> Iterator[str]:
    yield from ("invalid_parameter", "invalid_number")
    if operation.family is Family.WALLET:
        yield "secret_field_refused"
    if "{" in operation.path:
        yield "not_found"
    if operation.method in TAKES_BODY:
        yield from ("body_too_large", "unsupported_media_type")
    if operation.idempotent:
        yield from ("idempotency_key_reused", "idempotency_in_flight")
