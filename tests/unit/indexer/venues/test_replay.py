"""What is recorded of a venue, and what replay answers and refuses."""

import asyncio
import gzip
import json
from pathlib import Path

import pytest
from ccxt.base.errors import BadResponse

from indexer.venues.replay import (
    NotRecordedError,
    RecordingTransport,
    ReplayTransport,
    recorded_name,
)
from indexer.venues.transport import VenueAnswer, VenueRequest
from tests.unit.indexer.venues.native.wire import PayloadTransport

URL = "https://api.example.org/v1/depth?symbol=AAAQ&limit=20"


def request(url: str = URL, method: str = "GET") -> VenueRequest:
    return VenueRequest(method, url, {"X-KEY": "a key of a test"}, None, 1.0)


def recorded(folder: Path, payload: object) -> None:
    asyncio.run(
        RecordingTransport(PayloadTransport({"/v1/depth": payload}), folder).send(request())
    )


def test_a_recorded_answer__is_replayed_with_its_status(tmp_path: Path) -> None:
    recorded(tmp_path, VenueAnswer(418, "short", {}))

    assert asyncio.run(ReplayTransport(tmp_path).send(request())) == VenueAnswer(418, "short", {})


@pytest.mark.parametrize(
    "other",
    [
        request(URL.replace("AAAQ", "BBBQ")),
        request(URL.replace("depth", "trades")),
        request(URL + "&page=2"),
        request(method="POST"),
    ],
)
def test_another_request__is_refused(tmp_path: Path, other: VenueRequest) -> None:
    recorded(tmp_path, {})

    with pytest.raises(NotRecordedError, match="not recorded"):
        asyncio.run(ReplayTransport(tmp_path).send(other))


def test_a_name__leaves_out_what_differs_each_time_and_sorts_the_rest() -> None:
    asked = request("https://a.example/x?b=2&timestamp=1&signature=f00&a=1&recvWindow=5")

    assert recorded_name(asked) == "GET /x?a=1&b=2"


def test_a_recording__holds_no_header_of_the_request(tmp_path: Path) -> None:
    recorded(tmp_path, {"bids": []})
    (file,) = tmp_path.iterdir()

    assert "a key of a test" not in gzip.decompress(file.read_bytes()).decode()


def test_the_same_answer_twice__is_the_same_file_to_the_byte(tmp_path: Path) -> None:
    recorded(tmp_path, {"bids": []})
    (file,) = tmp_path.iterdir()
    first = file.read_bytes()
    recorded(tmp_path, {"bids": []})

    assert file.read_bytes() == first


@pytest.mark.parametrize(
    "damage", [b"", b"no gzip", gzip.compress(b"{}", mtime=0), gzip.compress(b"no json", mtime=0)]
)
def test_a_damaged_recording__is_a_bad_response(tmp_path: Path, damage: bytes) -> None:
    recorded(tmp_path, {})
    (file,) = tmp_path.iterdir()
    file.write_bytes(damage)

    with pytest.raises(BadResponse, match="damaged"):
        asyncio.run(ReplayTransport(tmp_path).send(request()))


def test_a_recording_under_another_requests_name__is_refused(tmp_path: Path) -> None:
    recorded(tmp_path, {})
    (file,) = tmp_path.iterdir()
    found = json.loads(gzip.decompress(file.read_bytes())) | {"request": "GET /v1/other"}
    file.write_bytes(gzip.compress(json.dumps(found).encode()))

    with pytest.raises(NotRecordedError):
        asyncio.run(ReplayTransport(tmp_path).send(request()))
