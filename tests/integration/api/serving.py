"""The app on a real socket, by the server that the product runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from api.catalogue import catalogue
from api.kernel.connections import ConnectionBounds
from api.kernel.protocol import protocol_of
from api.main import StreamingServer, listen

UP_S = 10


@contextmanager
def served(app_at: Callable[[str], ASGIApp]) -> Iterator[str]:
    """Serve what `app_at` makes of the base URL; the base URL."""
    with listen("127.0.0.1", 0) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = app_at(base_url)
        config = uvicorn.Config(
            app,
            http=protocol_of(ConnectionBounds(), catalogue()),
            log_config=None,
            proxy_headers=False,
            timeout_graceful_shutdown=5,
        )
        server = (
            StreamingServer(config, app.state.streams)
            if isinstance(app, FastAPI)
            else uvicorn.Server(config)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        end = time.monotonic() + UP_S
        while not server.started and time.monotonic() < end:
            time.sleep(0.01)
        yield base_url
        server.should_exit = True
        thread.join(UP_S)
        assert not thread.is_alive()
