"""The anchor: the root of the oldest epoch that the contract does not have yet.

The roots are made by the worker (keeper/areas/anchors.py). One is under way at a time, in order, so
that no epoch is passed over; the contract takes each once, and only on top of the root before it,
so that what is sent twice is refused the second time.
"""

from core.anchors.chain import post_data
from core.anchors.queries import EpochRoot
from core.hexes import bytes_of, hex_of
from core.keeper.intents import NewIntent
from keeper.state import Head, IntentKind, Role


def intent_of_anchor(anchor: str, chain_id: int, one: EpochRoot, head: Head) -> NewIntent:
    return NewIntent(
        chain_id=chain_id,
        subject=f"anchor:{one.epoch}",
        vault=None,
        kind=IntentKind.ANCHOR,
        role=Role.KEEPER,
        to=anchor,
        data=bytes_of(post_data(one.epoch, one.root, one.root_before)),
        trigger_block_number=head.number,
        trigger_block_hash=head.hash,
        reason={"why": "epoch", "epoch": one.epoch, "root": hex_of(one.root)},
    )
