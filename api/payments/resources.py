"""From the URL by which a metered read is offered to what it buys."""

from urllib.parse import unquote

from starlette.routing import compile_path

from api.kernel.catalogue import Catalogue
from api.kernel.fields import QueryText
from api.kernel.operation import Operation, Refusal
from api.kernel.refusals import route_path, url_of
from api.kernel.validation import command_of


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
