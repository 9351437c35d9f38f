"""The stop floor of each vault: what its signed terms say, and where those are no longer the
vault's, what two nodes read in its code.

Law: one node's word is kept only where one is configured. What two do not agree on is of this tick,
and asked again in the next one.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from core.chain.nodes import Nodes
from core.money import UsdcE6
from keeper import views

ASKED_S = 1.0  # that a node may take
MOST_A_TIME = 120  # vaults: one HTTP request
NEEDED = 2


class Floors:
    """`kept`: by vault; it never changes."""

    def __init__(self, rpc: Nodes) -> None:
        self._rpc = rpc
        self.kept: dict[str, UsdcE6] = {}
        self._read: dict[str, UsdcE6] = {}  # one node's word, of now

    def tell(self, signed: Mapping[str, UsdcE6]) -> None:
        """Of signed terms."""
        self.kept |= signed

    def of(self, vault: str) -> UsdcE6 | None:
        """As it is kept, or was read last. None: it was never told, nor read."""
        return self.kept.get(vault, self._read.get(vault))

    def note(self, vault: str, floor_usdc_e6: UsdcE6) -> None:
        """A node reads so."""
        (self._read if len(self._rpc.names) > 1 else self.kept)[vault] = floor_usdc_e6

    def agree(self, vaults: Collection[str]) -> None:
        """Ask every node for those that are not kept; a few, if they are many."""
        unknown = [vault for vault in vaults if vault not in self.kept][:MOST_A_TIME]
        if not unknown or len(self._rpc.names) < NEEDED:
            return
        said = self._rpc.batch_of_each(
            [views.floor_request(vault) for vault in unknown], ASKED_S
        ).values()
        for n, vault in enumerate(unknown):
            votes = Counter(
                floor for answers in said if (floor := views.usdc(answers[n])) is not None
            ).most_common(2)
            if (
                votes
                and votes[0][1] >= NEEDED
                and votes[0][1] > sum(count for _, count in votes[1:])
            ):
                self.kept[vault] = votes[0][0]
            elif votes:
                self._read[vault] = votes[0][0]
