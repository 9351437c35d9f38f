"""What a generated method needs: somebody who sends, and the fields that were given."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from api.client.following import FollowedEvents


class Send(Protocol):
    """Makes one call.

    `auth` is the catalogue's word for the credential; `also` a status above 399 that is an answer.
    """

    def __call__(
        self,
        method: str,
        path: str,
        auth: str,
        fields: Mapping[str, Any],
        *,
        idempotent: bool = False,
        idempotency_key: str | None = None,
        also: int | None = None,
    ) -> dict[str, Any]: ...


Follow = Callable[[str, str, Mapping[str, Any]], FollowedEvents]
"""Opens a stream of events: path, credential and fields as of `Send`."""


class Calls:
    def __init__(self, send: Send, follow: Follow) -> None:
        self._send = send
        self._follow = follow


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None; a field of the name `from` comes as `from_`."""
    return {name.removesuffix("_"): value for name, value in fields.items() if value is not None}
