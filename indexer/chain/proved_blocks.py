"""What nodes say of a block's logs, and whether the block's own hash says so (core/chain/proof.py).

header, receipts --keccak(rlp(header)) is the hash, the trie of the receipts has the header's root--> proved
"""

from dataclasses import dataclass

from core.chain import proof
from core.chain.nodes import Nodes, Request
from core.chain.proof import SealedHeader, SealedReceipts
from indexer.chain.fetch import BlockContradictionError, FetchedBlock, verified


@dataclass(frozen=True, slots=True)
class ToldBlock:
    """What a node says of a block; None: it contradicts itself. `is_proved`: by the block's own
    hash.
    """

    block: FetchedBlock | None
    is_proved: bool


def told_of(rpc: Nodes, block_hash: str, within_s: float) -> dict[str, ToldBlock]:
    """By node, of those that answer of this very block; each has `within_s` to do so."""
    requests: list[Request] = [
        ("eth_getBlockByHash", [block_hash, False]),
        ("eth_getBlockReceipts", [block_hash]),
    ]
    answers = rpc.batch_of_each(
        requests, within_s, parse=[proof.sealed_header, proof.sealed_receipts]
    )
    found = dict[str, ToldBlock]()
    for name, (header, receipts) in answers.items():
        if not isinstance(header, SealedHeader) or not isinstance(receipts, SealedReceipts):
            continue
        if header.header.hash == block_hash:
            found[name] = _told(header, receipts)
    return found


def proved_block(told: dict[str, ToldBlock]) -> FetchedBlock | None:
    """One that its own hash proves, whoever told it; None: none is."""
    return next((one.block for one in told.values() if one.is_proved), None)


def _told(header: SealedHeader, receipts: SealedReceipts) -> ToldBlock:
    try:
        block = verified(header.header, receipts.receipts)
    except BlockContradictionError:
        return ToldBlock(None, is_proved=False)
    # neighbours of one transaction are told by its hash, which the root does not cover
    is_distinct = len(set(header.header.transaction_hashes)) == len(receipts.receipts)
    is_proved = (
        is_distinct and header.receipts_root is not None and header.receipts_root == receipts.root
    )
    return ToldBlock(block, is_proved)
