"""GET /: the console, api/web as it is on disk when the process starts; no build step.

Laws
- Files are read once, at the start: a request names one of them or gets 404, and touches no disk.
- All but `/` and `/exit.html` lie below a prefix that is the hash of all files, so that they may be kept for
  ever: `/web/<hash>/app/main.js`. Their own imports are relative and stay below it.
- The policy lets a page run and load what this service gave it, and nothing else; strings become no code
  (Trusted Types) and no other site frames it. So pages are at their own addresses alone, and none lies below
  the prefix, where files have no policy.
"""

import gzip
import hashlib
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from posixpath import dirname, join, normpath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.kernel.bodies import etag_of

FOLDER = Path(__file__).resolve().parent.parent / "web"
MEDIA_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
PREFIX = "/web/"
PLACEHOLDER = "/web/HASH/"
PRELOADED = "<!-- modules of the first page -->"
FIRST_MODULE = "app/main.js"
# From where a module is loaded with the one that names it; `import("...")` loads when it is called.
IMPORTED = re.compile(r'\b(?:from|import)\s*"(\.\.?/[^"]+)"')
# Files of the chain of `make up`, which has a wallet that is built in.
LOCAL = "local/"
LOCAL_MODULES = ("local/wallet.js", "local/start.js")
LOCAL_PARTS = "<!-- of the local chain -->"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PAGE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
FOR_EVER: Mapping[str, str] = {"Cache-Control": "public, max-age=31536000, immutable"}
WORTH_COMPRESSING = 512  # bytes


@dataclass(frozen=True, slots=True)
class WebAnswers:
    """To who asks for one file: as it is, and compressed where that gains anything."""

    plain: Response
    compressed: Response

    def to(self, request: Request) -> Response:
        takes_gzip = _takes_gzip(request.headers.get("accept-encoding", ""))
        return self.compressed if takes_gzip else self.plain


@cache
def routes_of(local_rpc: str | None = None) -> list[Route]:
    """Files are read and compressed once per process. `local_rpc`: the node of `make up`, which the
    page may ask; None: there is none, and none of LOCAL is served.
    """
    files = _files()
    version = version_of(files)
    headers = PAGE_HEADERS
    if local_rpc is not None:
        policy = POLICY.replace("connect-src 'self'", f"connect-src 'self' {local_rpc}")
        headers = {**PAGE_HEADERS, "Content-Security-Policy": policy}
    page = _answers("index.html", _page(files, version, local_rpc), headers)
    # its own policy, by the hashes of what it carries, is in the file
    framing = {"Content-Security-Policy": "frame-ancestors 'none'"}
    exit_page = _answers("exit.html", files["exit.html"], {**PAGE_HEADERS, **framing})
    served = {
        name: _answers(name, content, FOR_EVER)
        for name, content in files.items()
        if not name.endswith(".html") and not (local_rpc is None and name.startswith(LOCAL))
    }

    async def index(request: Request) -> Response:
        return page.to(request)

    async def leave(request: Request) -> Response:
        return exit_page.to(request)

    async def asset(request: Request) -> Response:
        found = served.get(request.path_params["path"])
        if found is None or request.path_params["version"] != version:
            return Response(
                "There is no such file in this version of the console.\n",
                404,
                media_type="text/plain",
            )
        return found.to(request)

    return [
        Route("/", index),
        Route("/exit.html", leave),
        Route(PREFIX + "{version}/{path:path}", asset),
    ]


def version_of(files: Mapping[str, bytes]) -> str:
    """16 hex digits that change with any byte or name of any file."""
    found = hashlib.sha256()
    for name, content in sorted(files.items()):
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]


def address_of(name: str) -> str:
    """Where a file of the console is served, for ever."""
    return f"{PREFIX}{version_of(_files())}/{name}"


@cache
def _files() -> Mapping[str, bytes]:
    return {
        path.relative_to(FOLDER).as_posix(): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file() and path.suffix in MEDIA_TYPES and not path.name.endswith(".d.ts")
    }


def _page(files: Mapping[str, bytes], version: str, local_rpc: str | None) -> bytes:
    """index.html with the version in its links, and all modules of the first page asked for at once."""
    first = (FIRST_MODULE, *LOCAL_MODULES) if local_rpc else (FIRST_MODULE,)
    modules = loaded_with(files, first)
    links = "\n".join(
        f'<link rel="modulepreload" href="{PREFIX}{version}/{name}">' for name in modules
    )
    parts = (
        f'<meta name="local-rpc" content="{escape(local_rpc)}">\n'
        f'<link rel="stylesheet" href="{PREFIX}{version}/{LOCAL}local.css">\n'
        f'<script type="module" src="{PREFIX}{version}/{LOCAL}wallet.js"></script>'
        if local_rpc
        else ""
    )
    text = files["index.html"].decode().replace(LOCAL_PARTS, parts)
    return text.replace(PRELOADED, links).replace(PLACEHOLDER, f"{PREFIX}{version}/").encode()


def loaded_with(files: Mapping[str, bytes], names: Iterable[str]) -> list[str]:
    """These modules, and all that are loaded before they run, each once."""
    found, waiting = dict[str, None](), deque(names)
    while waiting:
        name = waiting.popleft()
        if name not in found:
            found[name] = None
            imported = IMPORTED.findall(files[name].decode())
            waiting += [normpath(join(dirname(name), one)) for one in imported]
    return list(found)


def _answers(name: str, content: bytes, headers: Mapping[str, str]) -> WebAnswers:
    standing = {
        **headers,
        "ETag": etag_of(content),
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    media_type = MEDIA_TYPES[Path(name).suffix]
    plain = Response(content, media_type=media_type, headers=standing)
    smaller = gzip.compress(content, 9, mtime=0)
    if len(content) < WORTH_COMPRESSING or len(smaller) >= len(content):
        return WebAnswers(plain, plain)
    standing |= {"Content-Encoding": "gzip", "ETag": etag_of(smaller)}
    return WebAnswers(plain, Response(smaller, media_type=media_type, headers=standing))


def _takes_gzip(accept_encoding: str) -> bool:
    """Whether the header names gzip, and does not refuse it by a weight of zero (RFC 9110, 12.5.3)."""
    named = (one.replace(" ", "").lower().split(";") for one in accept_encoding.split(","))
    weights = [rest for name, *rest in named if name == "gzip"]
    return any(not re.fullmatch(r"q=0(\.0{0,3})?", "".join(rest)) for rest in weights)
