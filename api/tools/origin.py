"""Who may speak to the tool endpoint by which name: this service's own host and loopback, nobody
else's.

A web page can make its visitor's browser call a name that it has pointed at this machine (DNS
rebinding). Such a call carries the page's name in Host, and in Origin; programs other than browsers
send no Origin. Source: MCP, Streamable HTTP, security warning. Ports and schemes are not compared:
they identify no machine.
"""

from urllib.parse import urlsplit

from starlette.datastructures import Headers

from api.kernel.operation import Refusal

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def require_own_origin(headers: Headers, base_url: str) -> None:
    """Errors: Refusal origin_not_allowed for another name in Host or in any Origin."""
    own = (urlsplit(base_url).hostname, *LOOPBACK)
    if _hostname("//" + headers.get("host", "")) not in own:
        raise Refusal("origin_not_allowed", f"Host: call this service by its own name, {base_url}.")
    if any(_hostname(origin) not in own for origin in headers.getlist("origin")):
        raise Refusal(
            "origin_not_allowed",
            "Origin: web pages of other sites may not call tools; call from a program, or "
            "from this service.",
        )


def _hostname(url: str) -> str | None:
    """In lower case; None for what names no host (`null` is the Origin of a sandboxed page)."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
