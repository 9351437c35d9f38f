"""An example of each refusal, for OpenAPI: the very body that the kernel makes, with a sentence as
a handler would write it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from api.kernel.catalogue import Catalogue
from api.kernel.operation import Operation, Refusal
from api.kernel.reasons import reasons_of
from api.kernel.refusals import has_block_everywhere, refused

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
IDS = {"mandates": "m_abcdefghij", "agents": "1001"}


def examples_of(operation: Operation, status: int, catalogue: Catalogue) -> Mapping[str, Any]:
    """Reason -> reference to its example, of the reasons that this operation answers with this
    status.
    """
    found = [
        reason
        for reason in reasons_of(operation, catalogue)
        if catalogue.reasons[reason].status == status
    ]
    return {
        reason: {"$ref": "#/components/examples/" + _name(reason, operation, catalogue)}
        for reason in found
    }


def example_bodies(operations: Iterable[Operation], catalogue: Catalogue) -> Mapping[str, Any]:
    """The examples that those references name."""
    return {
        _name(reason, one, catalogue): {"value": _body(reason, one, catalogue)}
        for one in operations
        for reason in reasons_of(one, catalogue)
    }


def _name(reason: str, operation: Operation, catalogue: Catalogue) -> str:
    """A refusal without the block is a sentence alone."""
    status = catalogue.reasons[reason].status
    has_block = operation.block or has_block_everywhere(reason, status)
    return reason if has_block else reason + "_sentence"


def _body(reason: str, operation: Operation, catalogue: Catalogue) -> Mapping[str, Any]:
    retry_at = MIDNIGHT if reason in ("rate_limited", "wallet_waits") else None
    return refused(
        Refusal(reason, catalogue.reasons[reason].example, retry_at=retry_at),
        operation,
        IDS,
        NOW,
        catalogue,
    ).body
