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
from collections.abc import Mapping

from starlette.responses import Response

from api.kernel.bodies import etag_of
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
    tag = answer.headers.get(ETAG) or etag_of(bytes(answer.body))
    is_public = credentials.key is None and credentials.bearer is None
    headers = _headers(tag, _control(operation, is_public))
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


def _control(operation: Operation, is_public: bool) -> str:
    if is_public:
        return f"public, max-age={operation.max_age_s}"
    own = operation.private_max_age_s
    return "private, no-cache" if own is None else f"private, max-age={own}"


def _headers(tag: str, control: str) -> Mapping[str, str]:
    return {ETAG: tag, "Cache-Control": control, "Vary": f"{KEY_HEADER}, Authorization"}


def _names(if_none_match: str, tag: str) -> bool:
    """Whether the header's list has this tag, by weak comparison; `*` has every one."""
    return if_none_match.strip() == "*" or tag in _TAG.findall(if_none_match)
