"""What a browser's page on another site may ask: any origin, method and header, and no cookie.

Source: the Fetch standard, CORS preflight.
"""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.kernel.http import EXPOSED_HEADERS, response_of
from api.kernel.operation import Deps, Refusal
from api.kernel.refusals import refused


class Cors(CORSMiddleware):
    """Starlette's, for preflights, but for the text of its 400; what other answers carry is the same for
    all (http.STANDING_HEADERS).
    """

    def __init__(self, app: ASGIApp, /, deps: Deps) -> None:
        super().__init__(
            app,
            allow_origins=["*"],
            allow_methods=["*"],
            allow_headers=["*"],
            expose_headers=EXPOSED_HEADERS,
        )
        self._deps = deps

    async def simple_response(
        self, scope: Scope, receive: Receive, send: Send, request_headers: Headers
    ) -> None:
        await self.app(scope, receive, send)

    def preflight_response(self, request_headers: Headers) -> Response:
        answer = super().preflight_response(request_headers)
        if answer.status_code == 200:
            return answer
        detail = (
            f"Preflight: {bytes(answer.body).decode()}; GET /agent/catalog lists every call with "
            "its method."
        )
        refusal = Refusal("invalid_parameter", detail)
        return response_of(refused(refusal, None, {}, self._deps.clock(), self._deps.catalogue))
