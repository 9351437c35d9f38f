"""Several calls whose failures are their own: a batch that fails is asked in halves, down to the
call that is at fault.
"""

import time
from collections.abc import Sequence
from typing import Any

from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.nodes import Nodes, Request

PATIENCE_S = 5.0  # for all parts of what failed
PART_S = 1.0  # for one of them


def settled_apart(rpc: Nodes, requests: Sequence[Request]) -> list[Any | RpcError]:
    """As Nodes.batch_settled, but a call that makes its batch fail yields the error in place, and so
    do those that there was no time for.

    Errors: RpcError when the node answers nothing at all.
    """
    try:
        return rpc.batch_settled(requests)
    except RpcError:
        rpc.call("eth_blockNumber")
    answers: list[Any | RpcError] = [
        RpcUnreachableError(method, ["no time left"]) for method, _ in requests
    ]
    until = time.monotonic() + PATIENCE_S
    parts = [(0, len(requests) // 2), (len(requests) // 2, len(requests))]
    while parts and time.monotonic() < until:
        first, end = parts.pop(0)
        try:
            answers[first:end] = rpc.batch_settled(requests[first:end], within_s=PART_S)
        except RpcError as error:
            middle = (first + end) // 2
            if end - first <= 1:
                answers[first:end] = [error] * (end - first)
            else:
                parts += [(first, middle), (middle, end)]
    return answers
