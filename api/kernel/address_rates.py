"""Calls of a network address that send no key, counted over 60 seconds: of operations that say
`per_minute` (docs/rules.md#client-address).

    calls in the 60 s before    0 ........ most-1 | most
    the next call               is served         | rate_limited until the oldest of them is 60 s old

Laws
- Each process counts what it serves, in its memory; what it kept (kept_answers.py) counts like what
  it reads, and a refused call does not count.
- It is bounded: the address that called longest ago goes first. The event loop alone uses it.
"""

from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(seconds=60)
MOST_ADDRESSES: Final = 20_000


class AddressRates:
    def __init__(self, most_addresses: int = MOST_ADDRESSES) -> None:
        self._calls: OrderedDict[tuple[str, str], deque[datetime]] = OrderedDict()
        self._most_addresses = most_addresses

    def count(self, name: str, client: str, most: int, now: datetime) -> datetime | None:
        """Count one more call of what is counted by that name; not None: there were `most` already,
        and from then on there is room again.
        """
        key = (name, client)
        calls = self._calls.setdefault(key, deque())
        self._calls.move_to_end(key)
        while calls and not now - WINDOW < calls[0] <= now:  # or a clock was set back
            calls.popleft()
        if len(calls) >= most:
            return (calls[0] if calls else now) + WINDOW
        calls.append(now)
        while len(self._calls) > self._most_addresses:
            self._calls.popitem(last=False)
        return None
