"""What a witness downloads is bounded in time, however few bytes come at once."""

import socket
import threading
import time
from pathlib import Path

import pytest

from api.client.verify.findings import UncheckedError
from scripts import witness

DRIPS = 40
PAUSE_S = 0.1


def _drip(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    with peer:
        peer.recv(4_096)
        try:
            peer.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            for _ in range(DRIPS):
                peer.sendall(b"x")
                time.sleep(PAUSE_S)
        except OSError:
            return  # the witness hung up, as it should


def test_fetch__service_that_drips__ends_after_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witness, "FETCH_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_drip, args=(listener,), daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        began = time.monotonic()
        with pytest.raises(UncheckedError, match="too slowly"):
            witness.fetch(url, "m_drip", "", tmp_path / "record")
        assert time.monotonic() - began < DRIPS * PAUSE_S / 2
        thread.join(5)
