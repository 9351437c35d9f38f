"""GET /openapi.json, and GET /docs: the same as a page for people, which runs nothing and loads
nothing: all of it is in the one answer.

Both are made once, when they are first asked for: writing 280 KB of JSON again held every other
caller up for as long.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

PATH, DOCUMENT_PATH = "/docs", "/openapi.json"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "public, max-age=300",
}
STYLE = (
    "body{font:16px/1.5 system-ui;max-width:70rem;margin:2rem auto;padding:0 "
    "1rem}td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem "
    "0}pre{overflow:auto;background:#8881;padding:.5rem}summary{cursor:pointer;overflow-wrap:anywhere}details{margin:.3rem "
    "0}details>*:not(summary){margin-left:1.2rem}details>table{display:block;overflow-x:auto}@media(max-width:40rem){details>*:not(summary){margin-left:0}td:last-child{overflow-wrap:anywhere}td,th{padding-right:.5rem}}"
)
# without it a phone draws a page of 980 pixels
WIDTH = '<meta name="viewport" content="width=device-width,initial-scale=1">'
REF = "#/components/schemas/"


def routes_of(document: Callable[[], Mapping[str, Any]]) -> list[Route]:
    page = cache(lambda: html(document()).encode())
    text = cache(lambda: json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode())

    async def show(request: Request) -> Response:
        return HTMLResponse(page(), headers=dict(HEADERS))

    async def give(request: Request) -> Response:
        return Response(text(), media_type="application/json")

    return [Route(PATH, show, methods=["GET"]), Route(DOCUMENT_PATH, give, methods=["GET"])]


def html(document: Mapping[str, Any]) -> str:
    info, tags = document["info"], [tag["name"] for tag in document["tags"]]
    links = " ".join(f'<a href="#tag-{escape(tag)}">{escape(tag)}</a>' for tag in tags)
    return (
        '<!doctype html><html lang="en"><meta '
        f'charset="utf-8">{WIDTH}<title>{escape(info["title"])}</title><style>{STYLE}</style>'
        f"<h1>{escape(info['title'])} "
        f"{escape(info['version'])}</h1><p>{escape(info['description'])}"
        '<p><a href="/openapi.json">openapi.json</a> <a href="/agent/catalog">catalog</a> <a '
        f'href="/mcp">tools</a><p>{links}'
        + "".join(_section(document, tag) for tag in document["tags"])
        + '<h2 id="schemas">Schemas</h2>'
        + "".join(
            _schema(name, schema)
            for name, schema in sorted(document["components"]["schemas"].items())
        )
        + "</html>"
    )


def _section(document: Mapping[str, Any], tag: Mapping[str, str]) -> str:
    calls = "".join(
        _call(method, path, one)
        for method, path, one in _calls(document)
        if tag["name"] in one["tags"]
    )
    return (
        "<h2 "
        f'id="tag-{escape(tag["name"])}">{escape(tag["name"])}</h2><p>{escape(tag["description"])}{calls}'
    )


def _calls(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            yield method.upper(), path, one


def _call(method: str, path: str, one: Mapping[str, Any]) -> str:
    body = one.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    rows = [
        (name["name"], name["in"], name["required"], name["schema"]) for name in one["parameters"]
    ]
    if body is not None:
        required = body.get("required", ())
        rows += [
            (name, "body", name in required, schema)
            for name, schema in body.get("properties", {}).items()
        ]
    fields = "".join(_field(*row) for row in rows)
    table = (
        f"<table><tr><th>field<th>in<th>required<th>form{fields}</table>"
        if rows
        else "<p>Takes nothing."
    )
    answers = "".join(
        f"<tr><td>{status}<td>{_answer(answer)}"
        for status, answer in sorted(one["responses"].items())
    )
    return (
        f'<details id="{escape(one["operationId"])}"><summary><code>{method} '
        f"{escape(path)}</code> {escape(one['summary'])}</summary>"
        f"<p>{escape(one['description'])}{table}<table><tr><th>status<th>answer{answers}</table></details>"
    )


def _field(name: str, place: str, is_required: bool, schema: Mapping[str, Any]) -> str:
    return f"<tr><td><code>{escape(name)}</code><td>{place}<td>{'yes' if is_required else ''}<td>{_json(schema)}"


def _answer(answer: Mapping[str, Any]) -> str:
    forms = "".join(
        f" {escape(kind)} {_json(content['schema'])}"
        for kind, content in answer.get("content", {}).items()
    )
    return f"{escape(answer['description'])}{forms}"


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    """The id stands inside: a browser opens the details around what a link leads to."""
    return (
        f"<details><summary>{escape(name)}</summary><pre "
        f'id="schema-{escape(name)}">{_json(schema, indent=1)}</pre></details>'
    )


def _json(schema: Any, indent: int | None = None) -> str:
    """What it refers to is a link on this page."""
    text = escape(json.dumps(schema, indent=indent, ensure_ascii=False), quote=False)
    parts = text.split(f'"{REF}')
    linked = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition('"')
        linked.append(f'<a href="#schema-{name}">{name}</a>{rest}')
    whole = "".join(linked)
    return whole if indent else f"<code>{whole}</code>"
