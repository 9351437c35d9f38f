"""Vaults that the chain calls stopped or settled at a safe block: nothing there changes any more, so they need not be watched."""

from keeper.observe import Observer
from keeper.state import KeeperState, VaultStatus

ENDS = {VaultStatus.STOPPED: "stopped", VaultStatus.SETTLED: "settled"}
MOST_A_TICK = 400


class Ended:
    """Remembers where each vault was first seen ended, so that the safe block is asked only about what it may know."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._seen: dict[tuple[str, VaultStatus], int] = {}  # height
        self._told: set[tuple[str, VaultStatus]] = set()

    def at_safe(self, state: KeeperState) -> tuple[int, list[tuple[str, str]]]:
        """(safe block, (vault, how it ended)) of those that are new. Nothing where the node names no safe block. Errors: RpcError."""
        ends = {(r.vault, r.status) for r in state.vaults if r.status in ENDS} - self._told
        self._seen = {end: self._seen.get(end, state.head.number) for end in ends if end[1] is not None}
        if not self._seen:
            return 0, []
        safe = self._observer.safe_block()
        if safe is None:
            return 0, []
        due = [vault for (vault, _), height in self._seen.items() if height <= safe.number][:MOST_A_TICK]
        statuses = self._observer.statuses(due, safe.hash) if due else {}
        found = [(vault, status) for vault, status in statuses.items() if status in ENDS]
        self._told |= set(found)
        return safe.number, [(vault, ENDS[status]) for vault, status in found]
