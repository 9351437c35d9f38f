"""What a witness downloads is bounded in time and memory, however the service sends it."""

import gzip
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from api.client.verify.findings import UncheckedError
from scripts import witness
from tests.integration.client.dripping import DRIPPED, DRIPS, HEADERS, PAUSE_S, sending


@pytest.mark.parametrize("pieces", DRIPPED.values(), ids=DRIPPED)
def test_fetch__service_that_drips__ends_after_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pieces: Sequence[bytes]
) -> None:
    """Headers were bounded by each read alone: hours of one byte a read."""
    monkeypatch.setattr(witness, "FETCH_S", 0.5)
    with sending(pieces, PAUSE_S) as url:
        began = time.monotonic()
        with pytest.raises(UncheckedError, match="too slowly"):
            witness.fetch(url, "m_drip", "", tmp_path / "record")
        assert time.monotonic() - began < DRIPS * PAUSE_S / 2


def answer(encoding: str, body: bytes) -> list[bytes]:
    return [HEADERS + f"Content-Encoding: {encoding}\r\n\r\n".encode(), body]


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,gzip,gzip"])
def test_fetch__body_folded_more_than_once__is_not_unfolded(tmp_path: Path, encoding: str) -> None:
    """A few kB of gzip in gzip were gigabytes of memory, before the first was counted."""
    body = b"a record"
    for _ in range(encoding.count("gzip")):
        body = gzip.compress(body)
    with (
        sending(answer(encoding, body), 0) as url,
        pytest.raises(UncheckedError, match="an encoding that was not asked for"),
    ):
        witness.fetch(url, "m_folded", "", tmp_path / "record")


def test_fetch__body_folded_once__is_the_record(tmp_path: Path) -> None:
    with sending(answer("gzip", gzip.compress(b"a record")), 0) as url:
        found = witness.fetch(url, "m_folded", "", tmp_path / "record")
    assert found.read_bytes() == b"a record"
