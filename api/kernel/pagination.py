"""Pages of a list, newest first, the same in every area.

    GET list?limit=2              -> two items, next_cursor c1
    GET list?limit=2&cursor=c1    -> the two before those, next_cursor c2 or null

Laws
- A cursor is the place (id or seq) of the last item shown, exclusive: what is added meanwhile
  shifts no page.
- It is text that callers take as it is: the place, and a MAC over list, filters and place. One that
  was changed, or comes from another list or with other filters, is refused; the limit may differ
  from page to page.
"""

import base64
import hmac
import json
from binascii import Error as NotBase64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import Field

from api.kernel.fields import WHOLE
from api.kernel.operation import Call, Command
from core.errors import InvalidParameterError

DEFAULT_LIMIT, MAX_LIMIT = 50, 200
PLACE_BYTES, MAC_BYTES = 8, 10
RULE = "send the next_cursor of the previous page, with the same path and filters, or leave it out"

Item = TypeVar("Item")


class Paged(Command):
    """What the command of a list has beside its filters."""

    cursor: (
        Annotated[str, Field(max_length=64, description="the next_cursor of the previous page")]
        | None
    ) = None
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT), WHOLE] = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class Page:
    """One page that is asked for: at most `limit` items, those before the place `before`
    (exclusive; None: the newest).
    """

    limit: int
    before: int | None
    _binding: bytes
    _secret: bytes

    def cut(
        self, found: Sequence[Item], place: Callable[[Item], int]
    ) -> tuple[list[Item], str | None]:
        """The items to show of up to limit + 1 that were found, and the cursor of the page after;
        None: there is none.
        """
        shown = list(found[: self.limit])
        return shown, self.cursor(place(shown[-1])) if len(found) > self.limit else None

    def cursor(self, place: int) -> str:
        raw = place.to_bytes(PLACE_BYTES)
        return (
            base64.urlsafe_b64encode(raw + _mac(self._secret, self._binding, raw))
            .decode()
            .rstrip("=")
        )


def page_of(call: Call, name: str, command: Paged) -> Page:
    """The page that a command asks for. `name`: the list, as its row of the catalogue is called.

    Errors: InvalidParameterError that names cursor.
    """
    filters = command.model_dump(mode="json", exclude={"cursor", "limit"})
    binding = json.dumps([name, filters], sort_keys=True, separators=(",", ":")).encode()
    before = None if command.cursor is None else _place(call.deps.pepper, binding, command.cursor)
    return Page(command.limit, before, binding, call.deps.pepper)


def _place(secret: bytes, binding: bytes, cursor: str) -> int:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True)
    except (NotBase64, ValueError):  # ValueError: not ASCII
        raise InvalidParameterError("cursor", RULE) from None
    place, mac = raw[:PLACE_BYTES], raw[PLACE_BYTES:]
    if not hmac.compare_digest(mac, _mac(secret, binding, place)):
        raise InvalidParameterError("cursor", RULE)
    return int.from_bytes(place)


def _mac(secret: bytes, binding: bytes, place: bytes) -> bytes:
    return hmac.digest(secret, b"cursor:" + place + binding, "sha256")[:MAC_BYTES]
