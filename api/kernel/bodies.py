"""Bodies of answers: the tag of one, and one that is sent in pieces.

Law: a piece is sent when its reader has taken most of those before. However large a body is that
many read, and however slowly, they share it, and each has about a piece of its own.
"""

import hashlib
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

PIECE: Final = 256 * 1024


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


class PiecesResponse(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        whole = memoryview(self.body)
        for first in range(0, max(len(whole), 1), PIECE):
            piece, more = bytes(whole[first : first + PIECE]), first + PIECE < len(whole)
            await send({"type": "http.response.body", "body": piece, "more_body": more})
