"""Which nodes take bytes and keep them to themselves."""

from collections.abc import Collection, Iterable

from keeper.snapshot import Snapshot

SWALLOWED_BLOCKS = 3


class Taken:
    """By node: the height at which it took bytes, or first said to have them, by their hash; None
    once it was told of.
    """

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, int | None]] = {}

    def note(self, node: str, hashes: Iterable[str], height: int) -> None:
        self._by_node.setdefault(node, {}).update(dict.fromkeys(hashes, height))

    def swallowed(self, node: str, snapshot: Snapshot, known: Collection[str]) -> list[str]:
        """Hashes that are in no block SWALLOWED_BLOCKS later, though nothing stands before them and
        they pay what is asked; each is told once. What is not among `known` is forgotten.

        What was sent before this process began counts from when the node first says that it waits
        there.
        """
        taken = self._by_node.setdefault(node, {})
        for tx_hash in taken.keys() - set(known):
            del taken[tx_hash]
        lowest = (
            slot.newest for slot in snapshot.pending if slot.nonce == snapshot.counts[slot.signer]
        )
        paying = [tx.hash for tx in lowest if tx.max_fee_wei >= snapshot.head.base_fee_wei]
        denied = {slot.newest.hash for slot in snapshot.unknown}
        for tx_hash in set(paying) - denied:
            taken.setdefault(tx_hash, snapshot.head.number)
        heights = {tx_hash: taken.get(tx_hash) for tx_hash in paying}
        found = [
            tx_hash
            for tx_hash, height in heights.items()
            if height is not None and snapshot.head.number - height >= SWALLOWED_BLOCKS
        ]
        taken.update(dict.fromkeys(found, None))
        return found
