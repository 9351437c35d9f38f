"""The bound of `make bench-events`: streams of a Starlette answer that sleeps, under plain uvicorn.

python -m tests.bench.asleep PORT
"""

import asyncio
import sys
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

PATH = "/asleep"


async def frames() -> AsyncIterator[bytes]:
    yield b"retry: 3000\nid: 0\n\n"
    while True:
        await asyncio.sleep(15)
        yield b": heartbeat\n\n"


async def asleep(_: Request) -> StreamingResponse:
    return StreamingResponse(frames(), media_type="text/event-stream")


if __name__ == "__main__":
    app = Starlette(routes=[Route(PATH, asleep)])
    uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False)
