"""A way to a node that may be shut: a relay of bytes in a thread of its own. Shut, it closes what is
open and takes nothing, as a node behind a provider's refusing gateway.
"""

import asyncio
import threading


class NodeGate:
    """Listens on `port` of 127.0.0.1 for the node at `upstream`."""

    def __init__(self, port: int, upstream: int) -> None:
        self._port, self._upstream = port, upstream
        self._is_shut = False
        self._writers = set[asyncio.StreamWriter]()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="gate", daemon=True)
        self._thread.start()

    def shut(self) -> None:
        self._is_shut = True
        self._loop.call_soon_threadsafe(self._close_all)

    def open(self) -> None:
        self._is_shut = False

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._relay, "127.0.0.1", self._port))
        self._loop.run_forever()

    def _close_all(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_shut:
            writer.close()
            return
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self._upstream)
        except OSError:
            writer.close()
            return
        both = {writer, up_writer}
        self._writers |= both
        try:
            await asyncio.gather(_copied(reader, up_writer), _copied(up_reader, writer))
        finally:
            self._writers -= both


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
