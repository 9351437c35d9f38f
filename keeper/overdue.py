"""Which pending nonces of our keys are to be offered again: what the chain keeps waiting, and what
a node has lost. Pure.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from core.keeper.intents import Intent
from core.keeper.rules import TxState
from keeper.attempts import NonceSlot
from keeper.snapshot import Snapshot
from keeper.state import URGENT

# what is not in the next block is offered again at once
PATIENCE_BLOCKS: Mapping[str, int] = dict.fromkeys(URGENT, 1)
OTHERS_PATIENCE_BLOCKS = 3
SEEN_PATIENCE_BLOCKS = 3  # what one node has in a block; others may be a little behind


def overdue_slots(
    live: Sequence[Intent], snapshot: Snapshot, own: Collection[str]
) -> Iterator[tuple[int, NonceSlot]]:
    """By intent: slots of our keys whose newest attempt has waited too long at the lowest
    nonce, or pays less than the base fee.

    What waits above another nonce waits for that one: more money would not help it. What pays
    less than the base fee is raised at any nonce, at most once a block.
    """
    kinds, seen = {intent.id: intent.kind for intent in live}, snapshot.seen
    for slot in snapshot.pending:
        newest, kind = slot.newest, kinds.get(slot.newest.intent_id)
        was_orphaned = newest.state is TxState.MINED  # it goes out again as it is first
        if kind is None or was_orphaned or slot.signer not in own:
            continue
        waited = snapshot.head.number - newest.offered_block
        is_lowest = slot.nonce == snapshot.counts[slot.signer]
        is_seen = (slot.signer, slot.nonce) in seen
        patience = (
            SEEN_PATIENCE_BLOCKS if is_seen else PATIENCE_BLOCKS.get(kind, OTHERS_PATIENCE_BLOCKS)
        )
        has_waited = is_lowest and waited >= patience
        if has_waited or (waited > 0 and newest.max_fee_wei < snapshot.head.base_fee_wei):
            yield newest.intent_id, slot


def unknown_slots(
    live: Sequence[Intent], snapshot: Snapshot, own: Collection[str]
) -> Iterator[tuple[int, NonceSlot]]:
    """By intent: slots of our keys that were offered in a block before, and that the node has
    not, at whatever nonce.
    """
    ids = {intent.id for intent in live}
    for slot in snapshot.unknown:
        is_ours = slot.newest.intent_id in ids and slot.signer in own
        if is_ours and snapshot.head.number > slot.newest.offered_block:
            yield slot.newest.intent_id, slot
