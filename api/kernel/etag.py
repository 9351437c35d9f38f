"""Answers that may be kept: of operations that name `max_age_s` (docs/rules.md#cached-answers).

    no credential sent    Cache-Control: public, max-age=N
    one sent              Cache-Control: private, no-cache      the answer may be the caller's alone: ask again each time
                          Cache-Control: private, max-age=N     of operations that name `private_max_age_s`
    If-None-Match names what we would send                      304, the same headers, no body

The ETag is strong: a digest of the body's bytes, which whoever keeps the body brings along. Vary names the credential headers, so that no
shared cache mixes callers up.
Source: RFC 9110 8.8.3, 13.1.2; RFC 9111.
"""

import re

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.kernel.bodies import etag_of
from api.kernel.credentials import KEY_HEADER, Credentials, one_of
from api.kernel.operation import CachePolicy, Operation

NOT_MODIFIED = 304
ETAG = "ETag"
OF_BODY = (b"content-length", b"content-type", b"content-encoding")

_TAG = re.compile(r'(?:W/)?("[^"]*")')


def add_cache_headers(answer: Response, operation: Operation, credentials: Credentials) -> None:
    """What a cache needs, where the answer may be kept."""
    if operation.cache is None or answer.status_code != operation.statuses[0]:
        return
    is_public = credentials.key is None and credentials.bearer is None
    answer.headers.setdefault(ETAG, etag_of(bytes(answer.body)))
    answer.headers["Cache-Control"] = _control(operation.cache, is_public)
    answer.headers["Vary"] = f"{KEY_HEADER}, Authorization"


def _control(cache: CachePolicy, is_public: bool) -> str:
    if is_public:
        return f"public, max-age={cache.max_age_s}"
    own = cache.private_max_age_s
    return "private, no-cache" if own is None else f"private, max-age={own}"


class ConditionalRequests:
    """Middleware: 304 in place of an answer whose ETag the caller named."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        named = one_of(Headers(scope=scope).getlist("if-none-match")) if is_read else None
        if named is None:
            await self.app(scope, receive, send)
            return
        is_known = False

        async def send_unless_known(message: Message) -> None:
            nonlocal is_known
            if message["type"] == "http.response.start":
                is_known = message["status"] == 200 and _names(named, message)
                if is_known:
                    headers = [one for one in message["headers"] if one[0] not in OF_BODY]
                    message = {**message, "status": NOT_MODIFIED, "headers": headers}
            elif is_known:
                message = {**message, "body": b""}
            await send(message)

        await self.app(scope, receive, send_unless_known)


def _names(if_none_match: str, start: Message) -> bool:
    """Whether the header's list has the answer's tag, by weak comparison; `*` has every one."""
    tag = Headers(raw=start["headers"]).get(ETAG)
    if tag is None:
        return False
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
