"""GET /openapi.json, and GET /docs: FastAPI's page of it, whose files come from this service.

Both are made once, when they are first asked for, and beside the event loop: writing the document
takes a second.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from threading import Lock
from typing import Any

from fastapi.openapi.docs import get_swagger_ui_html
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from api.kernel.console import address_of
from api.kernel.outcome import JSON

PATH, DOCUMENT_PATH = "/docs", "/openapi.json"
# Swagger UI writes styles into its elements; the one script of the page itself is named by its hash
POLICY = (
    "default-src 'none'; script-src 'self' 'sha256-{script}'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)
SHOWN: Mapping[str, Any] = {"docExpansion": "none", "defaultModelsExpandDepth": -1}

_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def routes_of(document: Callable[[], Mapping[str, Any]], title: str) -> list[Route]:
    page, one_at_a_time = cache(lambda: _page(title)), Lock()
    text = cache(lambda: json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode())

    def show(request: Request) -> Response:
        body, policy = page()
        headers = {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "public, max-age=300",
        }
        return HTMLResponse(body, headers=headers)

    def give(request: Request) -> Response:
        with one_at_a_time:
            return Response(text(), media_type=JSON)

    return [Route(PATH, show), Route(DOCUMENT_PATH, give)]


def _page(title: str) -> tuple[bytes, str]:
    """With its policy."""
    page = get_swagger_ui_html(
        openapi_url=DOCUMENT_PATH,
        title=title,
        swagger_js_url=address_of("vendor/swagger-ui.js"),
        swagger_css_url=address_of("vendor/swagger-ui.css"),
        swagger_favicon_url=address_of("icon.svg"),
        swagger_ui_parameters=dict(SHOWN),
    )
    body = bytes(page.body)
    (script,) = _SCRIPT.findall(body)
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    return body, POLICY.format(script=digest)
