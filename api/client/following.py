"""Server-sent events as they come: what a mandate's stream says, one after the other.

    with agent.mandates.events(mandate_id) as events:
        for event in events:
            print(event.name, event.content)

After a break call again with `last_event_id=events.last_event_id`: nothing is missed.
Source: docs/api-guide.md#events; the HTML standard, 9.2.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self

import httpx

from api.client.refusal import Unreachable


@dataclass(frozen=True, slots=True)
class HeardEvent:
    """`name`: step, status or reset. `content`: what the guide says of each."""

    id: str
    name: str
    content: dict[str, Any]


class FollowedEvents(Iterator[HeardEvent]):
    """Ends when the stream does. Errors: Unreachable when it breaks."""

    def __init__(self, answer: httpx.Response, held: ExitStack, last_event_id: str | None) -> None:
        self.last_event_id = last_event_id
        self._held = held
        self._request = answer.request
        self._events = self._read(answer.iter_bytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._held.close()

    def __next__(self) -> HeardEvent:
        try:
            return next(self._events)
        except httpx.TransportError as error:
            self.close()
            path = self._request.url.path
            raise Unreachable(self._request.method, path, repr(error), None) from error
        except StopIteration:
            self.close()
            raise

    def _read(self, parts: Iterator[bytes]) -> Iterator[HeardEvent]:
        rest, fields = b"", dict[str, str]()
        for part in parts:
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                if line:
                    name, _, value = line.decode().partition(":")
                    fields[name] = value.removeprefix(" ")
                    continue
                self.last_event_id = fields.get("id", self.last_event_id)
                if "data" in fields:
                    content = json.loads(fields["data"])
                    yield HeardEvent(self.last_event_id or "", fields["event"], content)
                fields = {}
