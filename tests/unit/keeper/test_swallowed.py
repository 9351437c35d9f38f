"""A node that says it has bytes, and no block has them."""

from core.keeper.intents import Tx
from core.keeper.rules import TxState
from core.money import UnixSeconds
from keeper.attempts import PendingSlot, slots_of
from keeper.snapshot import Snapshot
from keeper.state import Head
from keeper.swallowed import SWALLOWED_BLOCKS, Taken
from tests.unit.keeper.readings import VAULT

NODE = "http://first"
FEE_WEI = 10
BYTES = "0x" + "11" * 32


def snapshot(
    height: int, *, is_known: bool = True, count: int = 5, base_fee_wei: int = FEE_WEI
) -> Snapshot:
    """Nonce 5 of an account waits."""
    tx = Tx(
        id=1,
        intent_id=1,
        signer=VAULT,
        nonce=5,
        raw=b"",
        hash=BYTES,
        max_fee_wei=FEE_WEI,
        max_priority_fee_wei=1,
        offered_block=0,
        state=TxState.BROADCAST,
        mined_block_hash=None,
    )
    (slot,) = slots_of([tx])
    head = Head(height, "0x" + "22" * 32, UnixSeconds(height), base_fee_wei)
    return Snapshot(head, None, {VAULT: count}, (PendingSlot(slot, unknown=not is_known),))


def swallowed(taken: Taken, seen: Snapshot) -> list[str]:
    return taken.swallowed(NODE, seen, {BYTES})


def test_it_took_them__told_once_and_blocks_later() -> None:
    taken = Taken()
    taken.note(NODE, [BYTES], 10)
    heights = range(10, 10 + SWALLOWED_BLOCKS + 3)
    told = [height for height in heights if swallowed(taken, snapshot(height))]
    assert told == [10 + SWALLOWED_BLOCKS]


def test_sent_by_another_process__counts_from_when_the_node_says_it_has_them() -> None:
    taken = Taken()
    assert not swallowed(taken, snapshot(50))
    assert not swallowed(taken, snapshot(49 + SWALLOWED_BLOCKS))
    assert swallowed(taken, snapshot(50 + SWALLOWED_BLOCKS)) == [BYTES]


def test_neither_taken_nor_known__is_no_fault_of_the_node() -> None:
    taken = Taken()
    assert not any(swallowed(taken, snapshot(height, is_known=False)) for height in range(50, 60))


def test_they_wait_for_a_nonce_or_a_fee__is_no_fault_of_the_node() -> None:
    taken = Taken()
    assert not any(swallowed(taken, snapshot(height, count=4)) for height in range(50, 60))
    assert not any(
        swallowed(taken, snapshot(height, base_fee_wei=FEE_WEI + 1)) for height in range(50, 60)
    )
