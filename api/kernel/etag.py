"""Answers that may be kept: of operations that name `max_age_s` (docs/rules.md#cached-answers).

    no credential sent    Cache-Control: public, max-age=N
    one sent              Cache-Control: private, no-cache      the answer may be the caller's alone: ask again each time
    If-None-Match names what we would send                      304, the same headers, no body

The ETag is strong: a digest of the body's bytes. Vary names the credential headers, so that no
shared cache mixes callers up.
Source: RFC 9110 8.8.3, 13.1.2; RFC 9111.
"""

import hashlib
import re
from collections.abc import Mapping

from starlette.responses import Response

from api.kernel.credentials import KEY_HEADER, Credentials
from api.kernel.operation import Operation

NOT_MODIFIED = 304
ETAG = "ETag"

_TAG = re.compile(r'(?:W/)?("[^"]*")')


def kept(
    answer: Response, operation: Operation, credentials: Credentials, if_none_match: str | None
) -> Response:
    """The answer with what a cache needs, or 304 in its place; untouched where nothing may be
    kept.
    """
    if operation.max_age_s is None or answer.status_code != operation.status:
        return answer
    tag = etag_of(bytes(answer.body))
    headers = _headers(
        tag, operation.max_age_s, is_public=credentials.key is None and credentials.bearer is None
    )
    answer.headers.update(headers)
    return not_modified(answer, tag, if_none_match) or answer


def not_modified(answer: Response, tag: str, if_none_match: str | None) -> Response | None:
    """The 304 that stands for an answer with this tag; None: whoever asks has another one."""
    if if_none_match is None or not _names(if_none_match, tag):
        return None
    same = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("content-length", "content-type")
    }
    return Response(status_code=NOT_MODIFIED, headers=same)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def _headers(tag: str, max_age_s: int, *, is_public: bool) -> Mapping[str, str]:
    control = f"public, max-age={max_age_s}" if is_public else "private, no-cache"
    return {ETAG: tag, "Cache-Control": control, "Vary": f"{KEY_HEADER}, Authorization"}


def _names(if_none_match: str, tag: str) -> bool:
    """Whether the header's list has this tag, by weak comparison; `*` has every one."""
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
