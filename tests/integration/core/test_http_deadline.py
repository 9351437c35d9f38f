"""A request as a whole ends in time, and only what is asked within the bound is bounded."""

import time
from collections.abc import Sequence

import httpx
import pytest

from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.http_deadline import DeadlineTransport, within
from tests.integration.client.dripping import DRIPPED, DRIPS, HEADERS, PAUSE_S, sending

WHOLE = [HEADERS, b"Content-Length: 2\r\n", b"\r\n", b"ok"]


@pytest.mark.parametrize("pieces", DRIPPED.values(), ids=DRIPPED)
def test_a_node_that_drips__is_given_up_in_time(pieces: Sequence[bytes]) -> None:
    """A call of the keeper lasted as long as the node wished: its headers had no bound."""
    with sending(pieces, PAUSE_S) as url:
        rpc = Nodes([url], answer_s=0.5, deadline_s=0.6)
        began = time.monotonic()
        with pytest.raises(RpcUnreachableError):
            rpc.call("eth_blockNumber")
        assert time.monotonic() - began < DRIPS * PAUSE_S / 2
        rpc.close()


def test_an_answer_within_the_bound__is_read_whole() -> None:
    with sending(WHOLE, 0.05) as url, within(5), httpx.Client(transport=DeadlineTransport()) as one:
        assert one.get(url).text == "ok"


def test_a_bound_that_is_over__bounds_nothing_after_it() -> None:
    with sending(WHOLE, 0.1) as url, httpx.Client(transport=DeadlineTransport()) as one:
        with within(0.01):
            pass
        assert one.get(url).text == "ok"


def test_a_bound_that_has_passed__opens_no_connection() -> None:
    with (
        httpx.Client(transport=DeadlineTransport()) as one,
        within(0),
        pytest.raises(httpx.ConnectTimeout),
    ):
        one.get("http://127.0.0.1:9")


def test_a_peer_that_does_not_read__ends_what_is_sent() -> None:
    """It takes what the kernel keeps for it, and no more."""
    with (
        sending([b""], 4) as url,
        httpx.Client(transport=DeadlineTransport()) as one,
        within(2),  # long enough to connect on a busy machine
        pytest.raises(httpx.WriteTimeout),
    ):
        one.post(url, content=b"x" * 50_000_000)
