"""What the nodes say of the newest block, and what of it is believed: hash, height, time and base
fee are no single node's word.

    each node's newest block --> recent by this machine's clock --> near what the others say --> the first in order of preference

Laws
- Recent is a block of at most MOST_AHEAD_S ahead of this machine's clock and at most
  `max_head_age_s` old. Where no node has one, the youngest that is not ahead of time is taken: it
  is stale, and nothing is judged by it. Where all are ahead, the clock is late, and the least of
  them is the time.
- Near is what differs by at most MOST_APART_BLOCKS from the lower median of three or more. Of two
  that differ by more the lower is taken, and once what was decided by that failed, the other.
- Time and height agreed, the base fee is the higher median.
- A node whose block is not believed rests while others are asked first. With one node its word is
  all there is.
"""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from statistics import median_high, median_low
from typing import Any

import structlog

from core.chain import results
from core.chain.errors import RpcRefusedError
from core.chain.nodes import Nodes, Request
from core.errors import OutsideError
from core.money import UnixSeconds
from keeper.state import Head

# of this machine's clock: a head that is further ahead is a lie, or the clock is late
MOST_AHEAD_S = 5
MOST_APART_BLOCKS = 5  # what sound nodes make of ten seconds at most
ASKED_S = 1.0  # that a node may take
REST_S = 60.0
NEWEST: Request = ("eth_getBlockByNumber", ["latest", False])

log = structlog.get_logger("keeper")


class NoHeadError(OutsideError):
    """No node gave a usable newest block."""


def disbelieve(rpc: Nodes, name: str | None, why: str, **told: Any) -> None:
    """The node rests while others are asked first, and is told of."""
    log.warning("a node is not believed", node=name, why=why, **told)
    rpc.distrust(why, REST_S, name)


class Heads:
    """Remembers what time it is, and which of two nodes that contradict each other was wrong last.

    `clock`: seconds that only rise.
    """

    def __init__(
        self, rpc: Nodes, max_head_age_s: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rpc = rpc
        self._max_head_age_s = max_head_age_s
        self._most_ahead_s = min(MOST_AHEAD_S, max_head_age_s)
        self._clock = clock
        self._zero_at = time.time() - clock()  # unix seconds at the clock's zero
        # by node: when what was decided by its word, against another's, failed last
        self._failed_at: dict[str, float] = {}
        # the node that was believed last, when a single other one said otherwise
        self._contradicted: str | None = None

    def newest(self, now: UnixSeconds) -> tuple[str, Head]:
        """The newest block that is believed, and the node that told it.

        `now`: of this machine's clock.

        Errors: NoHeadError, RpcError.
        """
        self.set_clock(now)
        why = "no head"
        told: dict[str, Head] = {}
        with self._rpc.pinned():
            try:
                head = Head.of(self._rpc.call(*NEWEST, results.header))
            except RpcRefusedError as error:
                head, why = None, str(error)
            asked = self._rpc.pinned_name
        if head is not None and asked is not None:
            told[asked] = head
        told |= self.told([name for name in self._rpc.names if name != asked])
        self._set_right(now, told)
        return self.believed(told, asked, why)

    def _set_right(self, now: UnixSeconds, told: Mapping[str, Head]) -> None:
        """Where every node that answers is ahead of the clock, it is the clock that is late."""
        least = min((head.at for head in told.values()), default=now)
        if least - now > self._most_ahead_s:
            self.set_clock(least)

    def set_clock(self, now: UnixSeconds) -> None:
        self._zero_at = now - self._clock()

    def told(self, among: Collection[str]) -> dict[str, Head]:
        """The newest block of each of these nodes that tells one."""
        said = self._rpc.batch_of_each([NEWEST], ASKED_S, among, [results.header]) if among else {}
        return {
            name: head for name, (header,) in said.items() if (head := Head.of(header)) is not None
        }

    def is_recent(self, head: Head) -> bool:
        age_s = self._zero_at + self._clock() - head.at
        return -self._most_ahead_s <= age_s < self._max_head_age_s + 1  # ages are whole seconds

    def believed(
        self, told: Mapping[str, Head], asked: str | None, why: str = "no head"
    ) -> tuple[str, Head]:
        """One of what the nodes told, best first, and whose it is.

        `asked`: the node that is asked first, told or not.

        Errors: NoHeadError.
        """
        if not told:
            raise NoHeadError(f"the node gives no newest block, or one without a base fee: {why}")
        recent = {name: head for name, head in told.items() if self.is_recent(head)}
        if not recent:
            return self._least_wrong(told)
        near = self._near(recent)
        name, head = next(iter(near.items()))
        if asked is not None and name != asked:
            reason = "height" if asked in recent else "stale"
            disbelieve(self._rpc, asked, reason, head=head.number, theirs=_number(told.get(asked)))
        base_fee_wei = median_high(one.base_fee_wei for one in near.values())
        return name, replace(head, base_fee_wei=base_fee_wei)

    def failed(self, among: Collection[str] | None = None) -> None:
        """What was decided by the believed block did not come true: where one node stands against
        another, the other's turn comes.
        `among`: only if it is the word of one of these.
        """
        name = self._contradicted
        if name is not None and (among is None or name in among):
            self._contradicted, self._failed_at[name] = None, self._clock()
            self._rpc.distrust("height", REST_S, name)

    def _near(self, recent: Mapping[str, Head]) -> dict[str, Head]:
        middle, self._contradicted = median_low(head.number for head in recent.values()), None
        near = {
            name: head
            for name, head in recent.items()
            if abs(head.number - middle) <= MOST_APART_BLOCKS
        }
        if len(recent) > 2 or len(near) == len(recent):
            return near
        name = min(
            recent, key=lambda one: (self._failed_at.get(one, float("-inf")), recent[one].number)
        )
        self._contradicted = name
        return {name: recent[name]}

    def _least_wrong(self, told: Mapping[str, Head]) -> tuple[str, Head]:
        """The youngest, but none of the future as long as there is another: the clock may be
        late.
        """
        now = self._zero_at + self._clock()
        return min(told.items(), key=lambda one: (one[1].at > now, abs(now - one[1].at)))


def _number(head: Head | None) -> int | None:
    return None if head is None else head.number
