"""The thread that looks at the vaults: whatever happens in it, it goes on."""

import threading
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import cast

from core.keeper.views import WatchedVault
from core.money import UnixSeconds
from keeper.plan import NodeReadings
from keeper.read import Lenses
from keeper.watch import LookResult, Watch

WITHIN_S = 5.0


class NoThreads:
    """Nodes that cannot be asked: the machine has no thread left."""

    reader = SimpleNamespace(rpc=SimpleNamespace(names=()))

    def look(self, vaults: Sequence[WatchedVault]) -> Iterator[NodeReadings]:
        return iter(())

    def await_block(self, until: float, ended: threading.Event) -> None:
        raise RuntimeError("can't start new thread")


def test_waiting_for_a_block_fails__and_the_next_look_is_had_all_the_same() -> None:
    watch = Watch(
        lenses=cast("Lenses", NoThreads()),
        stops=None,
        max_head_age_s=10,
        sign=lambda: None,
        is_held_up=lambda: False,
    )
    watch.start(0.01)
    looks = list[LookResult]()
    asking = threading.Thread(
        target=lambda: looks.extend(watch.look([], UnixSeconds(0)) for _ in range(2)),
        daemon=True,
    )
    asking.start()
    asking.join(WITHIN_S)
    watch.stop()
    assert len(looks) == 2
