"""The app on a real socket, by the server that the product runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sse_starlette.sse import AppStatus
from starlette.types import ASGIApp

from api.main import listen, server_of

UP_S = 10


@contextmanager
def served(app_at: Callable[[str], ASGIApp]) -> Iterator[str]:
    """Serve what `app_at` makes of the base URL; the base URL."""
    with listen("127.0.0.1", 0) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = server_of(app_at(base_url), grace_s=5)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        end = time.monotonic() + UP_S
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        yield base_url
        # as a signal does, which reaches the main thread alone: streams end, then the server
        AppStatus.should_exit = server.should_exit = True
        thread.join(UP_S)
        AppStatus.should_exit = False
        assert not thread.is_alive()
