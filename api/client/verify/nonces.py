"""Where an account sent transactions that the record does not report, by bisecting its nonce.

A plain transaction raises its sender's nonce by one. Between two heights an account sent as many as
its nonce rose; where that is as many as the record and the logs know of, nothing is hidden and
nothing is looked at. Otherwise the range is halved: about 20 questions a transaction that nobody
knows, whatever the length of the chain. A nonce also rises without a transaction (EIP-7702, a
contract that makes another): then a block is looked at in which there is nothing.

    first                           middle                           last
    |------- 5 sent, 5 known -------|------- 4 sent, 3 known --------|
              explained                    halved again
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from api.client.verify.findings import UncheckedError
from api.client.verify.node import Node

MOST_ASKED = 20_000  # nonces of one account

Range = tuple[int, int]  # (first, last], the end of `first` to the end of `last`


def unexplained_heights(
    account: str, known: Sequence[int], first: int, last: int, node: Node
) -> list[int]:
    """Heights from `first` to `last`, both inclusive, in which the account sent more than is known.

    `known`: the heights of its transactions that are known, one for each, ascending.

    Errors: UncheckedError when the node has no nonces of past blocks, or too many are asked for.
    """
    if first > last:
        return []
    ranges, found, asked = [(first - 1, last)], list[int](), 2
    nonces = node.transaction_counts(account, [first - 1, last])
    while ranges:
        ranges = [
            one
            for one in ranges
            if _sent(one, nonces) > bisect_right(known, one[1]) - bisect_right(known, one[0])
        ]
        found += [until for since, until in ranges if until - since == 1]
        wide = [one for one in ranges if one[1] - one[0] > 1]
        middles = [(since + until) // 2 for since, until in wide]
        asked += len(middles)
        if asked > MOST_ASKED:
            raise UncheckedError("nonces", f"{account} sent too much that the record lacks")
        nonces |= node.transaction_counts(account, middles)
        ranges = [
            half
            for (since, until), middle in zip(wide, middles, strict=True)
            for half in ((since, middle), (middle, until))
        ]
    return sorted(found)


def _sent(one: Range, nonces: Mapping[int, int]) -> int:
    sent = nonces[one[1]] - nonces[one[0]]
    if sent < 0:
        raise UncheckedError("nonces", "a nonce fell: the node does not have those of past blocks")
    return sent
