"""How much to ask for at once: as much as nodes give in time, and no more than memory holds."""


class RangeSize:
    """How many blocks to ask for: so many that their logs are about `TARGET_LOGS`, and no more than
    the node gives.
    """

    TARGET_LOGS = 10_000
    FIRST, MOST = 64, 2_000
    SHORTEST = 5  # blocks that every plan grants, unless they hold very many logs
    # ranges that must come before it grows again: where a node stops answering in time, each try
    # costs its time-out
    CALM = 4

    def __init__(self) -> None:
        self.blocks, self._calm = self.FIRST, self.CALM

    @property
    def is_calm(self) -> bool:
        return self._calm > self.CALM

    def took(self, blocks: int, logs: int) -> None:
        """A range came: grow while its logs are few, shrink to the target when they are many."""
        self._calm += 1
        if logs > self.TARGET_LOGS:
            self.blocks = max(1, blocks * self.TARGET_LOGS // logs)
        elif logs * 2 <= self.TARGET_LOGS and blocks >= self.blocks and self.is_calm:
            self.blocks = min(self.MOST, max(self.blocks + 1, self.blocks * 3 // 2))

    def failed(self, blocks: int, least: int = 1) -> bool:
        """A range was refused, or did not come whole in time: ask for half.

        False: it was no longer than `least`, and its length is hardly why; a single block is next.
        """
        self._calm = 0
        self.blocks = 1 if blocks == least else max(least, blocks // 2)
        return blocks > least
