"""What no vault logs (the factory, adapters, payments in USDC, authorizations, the reserve token), asked of
a second node before a range is committed.

    a range's logs of one node --> another node's of the same contracts --> alike: the range is whole
                                        '- they differ --> receipts of the blocks in question, held
                                           against their headers as at the tip, are believed

Laws
- Where there is one node, or the others do not answer, nothing is concluded.
- A node that left a log out rests. So does one whose receipts contradict their headers; then nothing
  is written.
- Who says otherwise of more than MOST_RECEIPTS blocks, and is wrong about the first of them, is not
  asked about the others: a liar would make every range short.
- Vaults prove their own logs (log_proof.py).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from core.chain.blocks import RawLog
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader
from indexer.chain.fetch import FetchedBlock, fetch_blocks
from indexer.chain.fetch_range import beside_vaults
from indexer.chain.watch import WatchList

MOST_RECEIPTS = 64  # blocks whose receipts are read for one range
BLOCKS_A_REQUEST = 8
WITHIN_S = 5.0  # for another node to answer


class RangeTooLongError(OutsideError):
    """More blocks are in question than receipts are read for one range: a shorter one is to be
    taken, which has fewer.
    """

    def __init__(self, blocks: int) -> None:
        super().__init__(f"{blocks} blocks of the range are in question, more than {MOST_RECEIPTS}")


def corrected(
    reader: VaultReader,
    blocks: Sequence[FetchedBlock],
    watch: WatchList,
    sign: Callable[[], None] = lambda: None,
) -> dict[int, FetchedBlock]:
    """Height -> the block as its receipts have it, of those of which the node that gave the range
    and another one say different things, where the first was wrong; empty: the range is whole.

    To be called within the first one's pin; `watch` knows the range's own adapters.
    Errors: RangeTooLongError, BlockContradictionError, BlockUnavailableError, and the reader's.
    """
    headers = {block.header.number: block.header for block in blocks}
    told = _beside((one for block in blocks for one in block.logs), watch)
    differing = set[RawLog]()
    for answer in _others(reader, blocks, watch):
        differing |= told ^ _beside(answer, watch)
    doubted = sorted(headers.keys() & {one.block_number for one in differing})
    sign()
    found, some = dict[int, FetchedBlock](), doubted[:MOST_RECEIPTS]
    for start in range(0, len(some), BLOCKS_A_REQUEST):
        asked = [headers[number] for number in some[start : start + BLOCKS_A_REQUEST]]
        for whole in fetch_blocks(reader, asked, watch.may_concern, sign):
            number, logs = whole.header.number, set(whole.logs)
            of_it = {one for one in differing if one.block_number == number}
            if of_it & logs != of_it & told:
                found[number] = replace(whole, receipts=())
        sign()
    if found and len(doubted) > MOST_RECEIPTS:
        raise RangeTooLongError(len(doubted))
    return found


def _others(
    reader: VaultReader, blocks: Sequence[FetchedBlock], watch: WatchList
) -> list[list[RawLog]]:
    """What each other node says of the range. One that does not have its last block is left out."""
    others = [node for node in reader.rpc.names if node != reader.rpc.pinned_name]
    first, last = blocks[0].header, blocks[-1].header
    asked = (first.number, last.number, beside_vaults(watch), WITHIN_S, others)
    told = reader.logs_of_each(*asked) if others else {}
    return [logs for logs, newest in told.values() if newest.hash == last.hash]


def _beside(logs: Iterable[RawLog], watch: WatchList) -> set[RawLog]:
    return {one for one in logs if one.address not in watch.vaults}
