"""A peer of HTTP that sends what it is told to, with a pause after each piece."""

import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

DRIPS: Final = 40
PAUSE_S: Final = 0.1
HEADERS: Final = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
DRIPPED: Final = {
    "a body": [HEADERS + b"\r\n", *[b"x"] * DRIPS],
    "headers": [HEADERS, *[b"X: y\r\n"] * DRIPS],
    "one header": [HEADERS, b"X: ", *[b"y"] * DRIPS],
    "the status": [b"HTTP/1.1 200 ", *[b"y"] * DRIPS],
}


@contextmanager
def sending(pieces: Iterable[bytes], pause_s: float) -> Iterator[str]:
    """Its URL; it answers once."""

    def send(listener: socket.socket) -> None:
        peer, _ = listener.accept()
        with peer:
            peer.recv(4_096)
            try:
                for piece in pieces:
                    peer.sendall(piece)
                    time.sleep(pause_s)
            except OSError:
                return  # the client hung up, as it should

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=send, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join(5)
