"""The URL by which a metered read is offered and paid for, and the way back from a URL to what it
buys.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.routing import compile_path

from api.kernel.catalogue import Catalogue
from api.kernel.fields import QueryText
from api.kernel.operation import Operation, Refusal
from api.kernel.refusals import fill_path, route_path
from api.kernel.validation import command_of


def url_of(base_url: str, operation: Operation, fields: Mapping[str, Any]) -> str:
    """In the only form that a payment is taken for: the path's values alone, quoted in one way."""
    path = fill_path(operation.path, {name: str(value) for name, value in fields.items()}, {})
    return f"{base_url}{path}"


def priced_at(catalogue: Catalogue, base_url: str, url: str) -> Operation | None:
    """The metered read that this very URL, character by character, is offered by.

    None: a payment for it buys nothing.
    """
    return next((one for one in metered(catalogue) if _is_at(one, base_url, url)), None)


def metered(catalogue: Catalogue) -> list[Operation]:
    return [one for one in catalogue.operations if one.sold is not None]


def _is_at(operation: Operation, base_url: str, url: str) -> bool:
    pattern, _, _ = compile_path(route_path(operation.path))
    found = pattern.match(url.removeprefix(base_url))
    fields = (
        {} if found is None else {name: unquote(value) for name, value in found.groupdict().items()}
    )
    if found is None or operation.sold is None or url_of(base_url, operation, fields) != url:
        return False
    try:
        return operation.sold.is_there(
            command_of(
                operation.command, {name: QueryText(value) for name, value in fields.items()}
            )
        )
    except Refusal:
        return False
