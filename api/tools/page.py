"""What a browser sees at /mcp: where to point a client, how to show who calls, and the tools of a
profile.
"""

import json
from collections.abc import Mapping
from html import escape

from api.kernel.catalogue import Catalogue
from api.kernel.credentials import KEY_HEADER
from api.kernel.operation import Operation
from api.kernel.tool import Profile

# The page runs nothing and loads nothing; no site may frame it (docs/rules.md#cached-answers).
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
# without it a phone draws a page of 980 pixels
WIDTH = '<meta name="viewport" content="width=device-width,initial-scale=1">'
STYLE = (
    "body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem}td,th{text-align:left;padding:.2rem 1rem .2rem "
    "0}pre,table{display:block;overflow-x:auto}"
)


def html(catalogue: Catalogue, base_url: str, profile: Profile) -> str:
    tools = "".join(_line(name, one) for name, one in catalogue.tools(profile).items())
    profiles = " ".join(f'<a href="?profile={one}">{one}</a>' for one in Profile)
    return (
        '<!doctype html><html lang="en"><meta '
        f'charset="utf-8">{WIDTH}<title>Tools</title><style>{STYLE}</style>'
        "<h1>Tools for agents</h1><p>This address speaks MCP (Streamable HTTP): point a client "
        "at it, not a browser."
        f"<pre>{escape(client_settings(base_url, profile))}</pre>"
        "<p>The key is the agent's; registering needs none (<code>agent_connect</code>, or POST "
        "/auth/agent/connect). "
        f"<p>Tools of the profile <b>{profile}</b> (others: {profiles}):"
        f"<table><tr><th>tool<th>kind<th>same as<th>what it does{tools}</table>"
        '<p><a href="/agent/catalog">Every call of this service</a></html>'
    )


def client_settings(base_url: str, profile: Profile) -> str:
    """The entry that most clients take in their settings, as JSON."""
    server = {
        "type": "http",
        "url": f"{base_url}/mcp?profile={profile}",
        "headers": {KEY_HEADER: "<the agent's key>"},
    }
    return json.dumps({"mcpServers": {"mandate-wallet": server}}, indent=2)


def _line(name: str, operation: Operation) -> str:
    assert operation.tool is not None, "operations are listed by their tool"
    cells = (
        f"<code>{name}</code>",
        operation.tool.kind.value,
        f"{operation.method} {escape(operation.path)}",
        escape(operation.summary),
    )
    return "<tr>" + "".join(f"<td>{cell}" for cell in cells)
