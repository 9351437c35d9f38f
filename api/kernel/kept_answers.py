"""Answers that this process keeps, so that what everybody asks for is read and written once.

    GET /board    no credential, asked within max_age_s before    the same bytes, with their Age
                  else                                            the pipeline, and kept from then on

Laws
- Only what anybody may read and keep (`max_age_s`) is kept, and only where the operation says
  `keeps`; a call with a credential goes through the pipeline, which counts it. A refusal is not
  kept.
- An answer is as old as its Age says, so that nobody's copy outlives `max_age_s`
  (docs/rules.md#cached-answers).
- It is bounded: the answer that was not asked for longest goes first. The event loop alone uses it.
Source: RFC 9111 4.2.3, 5.1.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cachetools import TLRUCache
from starlette.requests import Request
from starlette.responses import Response

from api.kernel.bodies import PiecesResponse
from api.kernel.credentials import KEY_HEADER
from api.kernel.metrics import log_call
from api.kernel.operation import Deps, Operation

MOST_BYTES: Final = 32 * 1024 * 1024
OVERHEAD: Final = 2_048  # of an answer beside its body
MOST_PLACE: Final = 256  # characters of path and query: a longer one is nobody else's

Place = tuple[str, str, bytes]


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """`headers`: those of the answer, but for its Age."""

    body: bytes
    status: int
    headers: dict[str, str]
    kept_at: datetime
    max_age_s: int


class KeptAnswers(TLRUCache[Place, KeptAnswer]):
    """An answer goes when it is as old as it may be, or when there are too many."""

    def __init__(self, clock: Callable[[], datetime], most_bytes: int = MOST_BYTES) -> None:
        super().__init__(
            most_bytes,
            lambda _, answer, __: answer.kept_at.timestamp() + answer.max_age_s,
            lambda: clock().timestamp(),
            lambda answer: len(answer.body) + OVERHEAD,
        )

    def find(self, place: Place, now: datetime) -> KeptAnswer | None:
        """None: there is none, or it is younger than now, since the clock was set back."""
        known = self.get(place)
        return None if known is None or known.kept_at > now else known

    def keep(self, place: Place, answer: Response, max_age_s: int, now: datetime) -> None:
        headers = {
            name: value for name, value in answer.headers.items() if name != "content-length"
        }
        with suppress(ValueError):  # larger than all may be
            self[place] = KeptAnswer(
                bytes(answer.body), answer.status_code, headers, now, max_age_s
            )


def place_of(request: Request, operation: Operation) -> Place | None:
    """Where the answer to this call is kept; None: it is not."""
    if (
        not (operation.cache and operation.cache.keeps)
        or KEY_HEADER in request.headers
        or "authorization" in request.headers
    ):
        return None
    path, query = request.scope["path"], request.scope["query_string"]
    if len(path) + len(query) > MOST_PLACE:
        return None
    return operation.key, path, query


def answered_again(
    request: Request, operation: Operation, known: KeptAnswer, deps: Deps, head: bytes = b""
) -> Response:
    """The kept answer as it is sent; counted and logged like any call.

    `head`: what this caller's answer has before what is kept.
    """
    with deps.metrics.serving(operation.key) as served:
        age = {"Age": str(int((deps.clock() - known.kept_at).total_seconds()))}
        answer = PiecesResponse(head + known.body, known.status, {**known.headers, **age})
        served.answered(answer.status_code, {})
    log_call(operation.key, served, request.state.request_id)
    return answer
