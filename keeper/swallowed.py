"""Which nodes take bytes and keep them to themselves."""

from collections.abc import Collection, Iterable

from keeper.sight import Sight

SWALLOWED_BLOCKS = 3


class Taken:
    """By node: the height at which it took bytes, by their hash."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, int]] = {}

    def note(self, node: str, hashes: Iterable[str], height: int) -> None:
        self._by_node.setdefault(node, {}).update(dict.fromkeys(hashes, height))

    def swallowed(self, node: str, sight: Sight, known: Collection[str]) -> list[str]:
        """Hashes that are in no block SWALLOWED_BLOCKS later, though nothing stands before them and they pay what is asked; each is told
        once. What is not among `known` is forgotten."""
        taken = self._by_node.setdefault(node, {})
        for tx_hash in taken.keys() - set(known):
            del taken[tx_hash]
        lowest = (slot.newest for slot in sight.pending if slot.nonce == sight.counts[slot.signer])
        paying = [tx.hash for tx in lowest if tx.max_fee_wei >= sight.head.base_fee_wei]
        found = [tx_hash for tx_hash in paying if sight.head.number - taken.get(tx_hash, sight.head.number) >= SWALLOWED_BLOCKS]
        for tx_hash in found:
            del taken[tx_hash]
        return found
