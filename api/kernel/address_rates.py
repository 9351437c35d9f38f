"""Calls of a network address that send no key, counted over 60 seconds: of operations that say
`per_minute` (docs/rules.md#client-address).

    calls since the first of the 60 s    0 ........ most-1 | most
    the next call                        is served         | rate_limited until the 60 s are over

Laws
- The 60 seconds of an address begin with its first call after the last 60.
- Each process counts what it serves, in its memory; what it kept (kept_answers.py) counts like what
  it reads, and a refused call does not count.
- It is bounded: two words an address, and the address that called longest ago goes first. The event
  loop alone uses it.
"""

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(seconds=60)
MOST_ADDRESSES: Final = 20_000


@dataclass(slots=True)
class _Calls:
    since: datetime
    number: int = 0


class AddressRates:
    def __init__(self, most_addresses: int = MOST_ADDRESSES) -> None:
        self._calls: OrderedDict[tuple[str, str], _Calls] = OrderedDict()
        self._most_addresses = most_addresses

    def count(self, name: str, client: str, most: int, now: datetime) -> datetime | None:
        """Count one more call of what is counted by that name; not None: there were `most` already,
        and from then on there is room again.
        """
        key = (name, client)
        calls = self._calls.get(key)
        if calls is None or not calls.since <= now < calls.since + WINDOW:  # a clock was set back
            calls = self._calls[key] = _Calls(now)
        self._calls.move_to_end(key)
        if calls.number >= most:
            return calls.since + WINDOW
        calls.number += 1
        while len(self._calls) > self._most_addresses:
            self._calls.popitem(last=False)
        return None
