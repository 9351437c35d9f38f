"""A venue's answers as files: written once from the live venue, then read as often as wanted.

A file is one request and its answer, gzipped JSON, named by a hash of the method, the path and the
sorted query without what differs each time (time, signature, nonce). Keys, signatures and bodies of
requests are in no file.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from ccxt.base.errors import BadResponse

from indexer.venues.port import MAX_ANSWER_BYTES
from indexer.venues.transport import VenueAnswer, VenueRequest, VenueTransport

_EACH_TIME: Final = frozenset(
    ("timestamp", "signature", "recvwindow", "nonce", "_", "sign", "api_key", "apikey", "tonce")
)


class NotRecordedError(BadResponse):  # type: ignore[misc]  # ccxt has no types
    """A request that no file answers. It goes nowhere."""


def recorded_name(request: VenueRequest) -> str:
    """What a request is known by: `GET /api/v3/depth?limit=100&symbol=BTCUSDT`."""
    parts = urlsplit(request.url)
    query = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _EACH_TIME
    )
    return f"{request.method} {parts.path}" + (f"?{urlencode(query)}" if query else "")


def _file_of(folder: Path, name: str) -> Path:
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json.gz"


class RecordingTransport:
    """The newest answer to a request takes the place of the one before it."""

    def __init__(self, behind: VenueTransport, folder: Path) -> None:
        self._behind, self._folder = behind, folder
        folder.mkdir(parents=True, exist_ok=True)

    async def send(self, request: VenueRequest) -> VenueAnswer:
        answer = await self._behind.send(request)
        name = recorded_name(request)
        written = json.dumps({"request": name, "status": answer.status, "text": answer.text})
        _file_of(self._folder, name).write_bytes(gzip.compress(written.encode(), mtime=0))
        return answer

    async def close(self) -> None:
        await self._behind.close()


class ReplayTransport:
    """Errors: NotRecordedError for what is in no file, BadResponse for a file that is damaged."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def send(self, request: VenueRequest) -> VenueAnswer:
        name = recorded_name(request)
        file = _file_of(self._folder, name)
        if not file.is_file():
            raise NotRecordedError(f"not recorded: {name}")
        try:
            with gzip.open(file) as opened:
                found = json.loads(opened.read(MAX_ANSWER_BYTES * 2))
            if found["request"] != name:
                raise NotRecordedError(f"not recorded: {name}")
            return VenueAnswer(int(found["status"]), str(found["text"]), {})
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise BadResponse(f"a damaged recording of {name}") from error

    async def close(self) -> None:
        """There is nothing to let go of."""
