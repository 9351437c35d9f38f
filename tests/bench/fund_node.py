"""A node that answers every call at once: `python -m tests.bench.fund_node PORT`."""

import asyncio
import json
import sys
from typing import Any


async def node(port: int) -> None:
    """A chain where every address holds 1,000 USDC."""
    held = "0x" + f"{1_000_000_000:064x}"

    def answer(call: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": call["id"], "result": held}

    async def serve(reader: asyncio.StreamReader, writing: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                asked = json.loads(await reader.readexactly(size))
                said = json.dumps(
                    [answer(one) for one in asked] if isinstance(asked, list) else answer(asked)
                )
                writing.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    + f"Content-Length: {len(said)}\r\n\r\n{said}".encode()
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writing.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(node(int(sys.argv[1])))
