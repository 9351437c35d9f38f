"""Whoever follows a stream in tests: httpx over a real socket, one thread a follower."""

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

SOON_S = 20.0


@dataclass(frozen=True)
class Heard:
    id: str
    name: str
    data: Any

    @property
    def seq(self) -> int:
        return int(self.data["seq"])


@dataclass
class Follower:
    """`heard` has the events in their order; `comments` counts lines that are none."""

    status: int
    headers: Mapping[str, str]
    heard: list[Heard] = field(default_factory=list)
    comments: int = 0
    last_id: str = ""
    retry: str = ""
    has_ended: bool = False
    _answer: httpx.Response | None = None
    _more: "queue.Queue[None]" = field(default_factory=queue.Queue)

    def until(self, is_true: Callable[["Follower"], Any]) -> "Follower":
        """Wait until that is true of what was heard."""
        end = time.monotonic() + SOON_S
        while not is_true(self):
            assert time.monotonic() < end, (self.heard, self.comments, self.has_ended)
            time.sleep(0.01)
        return self

    def names(self) -> list[str]:
        return [event.name for event in self.heard]

    def seqs(self) -> list[int]:
        """Of the rows."""
        return [event.seq for event in self.heard if event.name == "step"]

    def read(self) -> None:
        assert self._answer is not None
        block: dict[str, str] = {}
        try:
            for line in self._answer.iter_lines():
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(": ")
                    block[name] = value
                else:
                    self._take(block)
                    block = {}
        except (httpx.HTTPError, httpx.StreamError):
            pass
        self.has_ended = True

    def _take(self, block: Mapping[str, str]) -> None:
        self.last_id = block.get("id", self.last_id)
        self.retry = block.get("retry", self.retry)
        if "data" in block:
            self.heard.append(Heard(self.last_id, block["event"], json.loads(block["data"])))


@contextmanager
def following(
    url: str, who: Mapping[str, str], last_event_id: str | None = None
) -> Iterator[Follower]:
    headers = dict(who) if last_event_id is None else {**who, "Last-Event-ID": last_event_id}
    timeout = httpx.Timeout(SOON_S, read=60)
    with httpx.stream("GET", url, headers=headers, timeout=timeout) as answer:
        follower = Follower(answer.status_code, answer.headers, _answer=answer)
        if answer.status_code != 200:
            answer.read()
            follower.heard = [Heard("", "refused", answer.json())]
            yield follower
            return
        thread = threading.Thread(target=follower.read, daemon=True)
        thread.start()
        yield follower
        # closing alone would reach the server only when the thread that waits for bytes gets some
        wire = answer.extensions["network_stream"].get_extra_info("socket")
        with suppress(OSError):
            wire.shutdown(socket.SHUT_RDWR)
        thread.join(SOON_S)


def eventually(is_true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not (found := is_true()) and time.monotonic() < end:
        time.sleep(0.05)
    return found
