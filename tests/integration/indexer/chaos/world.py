"""The chain of the story: blocks with what people do in them, and reorgs that keep, drop, move or
bring back blocks.

A block is its time and its raw transactions. With the base fee held still, the same block on the
same parent has the same hash, so that a branch can be left and come back as it was.

Laws
- No reorg goes below what was ever final (64 under the highest head), nor below the deployment.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.chaos.people import Crowd, Deed
from tests.integration.indexer.chaos.provider import FaultyNode
from tests.integration.indexer.chaos.strangers import Harm, Strangers
from tests.integration.indexer.chaos.views import FINAL_DEPTH, Branch
from tests.personas import Persona

BASE_FEE_WEI = 1_000_000_000
DEEPEST = 64
RANGE_BLOCKS = 34  # as many below the finalized block are taken in a range
HARM = 0.08  # the share of deeds that are a stranger's
# a few blocks come days later: a proposal is ripe, a mandate over
LEAPS, LEAP_S = 0.02, 4 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Block:
    at: int  # unix seconds
    raws: tuple[str, ...]


@dataclass(slots=True)
class World:
    chain: DeployedChain
    luck: random.Random
    crowd: Crowd
    strangers: Strangers
    nodes: Sequence[FaultyNode]
    floor: int  # the height of the deployment's last block
    highest: int = 0
    _raw_of: dict[str, str] = field(default_factory=dict)
    _nonces: dict[str, int] = field(default_factory=dict)

    @property
    def head(self) -> BlockHeader:
        header = self.chain.reader.header()
        assert header is not None
        return header

    # Forward

    def mine(self, blocks: int, most: int = 4) -> str:
        """Blocks with up to `most` transactions each."""
        sent = sum(self._block(self._deeds(self.luck.randint(0, most))) for _ in range(blocks))
        return f"mine {blocks} blocks with {sent} transactions to {self._seen()}"

    def mine_deeds(self, deeds: Sequence[Deed]) -> None:
        """One block with these."""
        self._block(deeds)
        self._seen()

    def mine_harm(self, kind: Harm) -> str:
        """One block with that, and one with what people do after it."""
        self._block(self.strangers.harm(self.luck, kind))
        return f"{kind}; {self.mine(1)}"

    def mine_backlog(self, blocks: int) -> str:
        """So many blocks with deeds and as many without that the first ones are final, and worth
        taking in ranges.
        """
        for _ in range(blocks):
            self._block(self._deeds(self.luck.randint(0, 2)))
        return f"{blocks} blocks; {self.mine_empty(FINAL_DEPTH + RANGE_BLOCKS)}"

    def mine_empty(self, blocks: int) -> str:
        self.chain.anvil.mine(blocks)
        return f"mine {blocks} empty blocks to {self._seen()}"

    # Reorgs

    def deepest(self) -> int:
        """How deep a reorg may go now."""
        head = self.head.number
        return min(DEEPEST, head - max(self.floor, self.highest - FINAL_DEPTH))

    def replace(self, depth: int, longer: int, keep: float) -> str:
        """Another branch, `longer` blocks longer (or shorter), with a share of the old transactions
        at other places.
        """
        old = self._roll_back(depth)
        kept = self._kept([raw for block in old for raw in block.raws], keep)
        length = max(1, depth + longer)
        places = sorted(self.luck.randrange(length) for _ in kept)
        for place in range(length):
            mine = [raw for raw, at in zip(kept, places, strict=True) if at == place]
            fresh = self._deeds(self.luck.randint(0, 2)) if self.luck.random() < 0.3 else []
            self._block(fresh, mine)
        return (
            f"replace the last {depth} blocks by {length}, {len(kept)} of the old transactions "
            f"kept, to {self._seen()}"
        )

    def replace_at_once(self, depth: int, keep: float) -> str:
        """As anvil_reorg does it: nobody sees a shorter chain."""
        blocks = self._above(self.head.number - depth)
        kept = self._kept([raw for block in blocks for raw in block.raws], keep)
        self._remember(depth)
        places = sorted(self.luck.randrange(depth) for _ in kept)
        self.chain.anvil.reorg(depth, list(zip(kept, places, strict=True)))
        return f"anvil_reorg {depth} with {len(kept)} of the old transactions to {self._seen()}"

    def leave(self, depth: int, other: int) -> tuple[int, tuple[Block, ...], str]:
        """Leave the branch for `other` blocks of another; (height of the fork, the old blocks, what
        happened).
        """
        fork = self.head.number - depth
        old = self._roll_back(depth)
        for _ in range(other):
            self._block(self._deeds(self.luck.randint(0, 2)))
        return fork, old, f"leave the last {depth} blocks for {other} others at {self._seen()}"

    def come_back(self, fork: int, blocks: Sequence[Block]) -> str:
        """Back to the old branch, block for block with the same hashes, and one new block on
        top.
        """
        self._roll_back(self.head.number - fork)
        for block in blocks:
            self._mine(block)
        self._block([])
        return f"come back to the old branch of {len(blocks)} blocks, to {self._seen()}"

    # Pieces

    def _deeds(self, count: int) -> list[Deed]:
        return [deed for _ in range(count) for deed in self._deed()]

    def _deed(self) -> list[Deed]:
        return (
            self.strangers.harm(self.luck)
            if self.luck.random() < HARM
            else self.crowd.act(self.luck, self.head)
        )

    def _block(self, deeds: Sequence[Deed], raws: Sequence[str] = ()) -> int:
        """A block of old transactions, as they were signed, and of new deeds; how many were
        sent.
        """
        self._nonces.clear()
        accepted = [raw for raw in raws if self._send(raw)]
        for deed in deeds:
            raw = self.chain.sign(deed.sender, deed.to, deed.data, self._nonce(deed.sender))
            if self._send(raw):
                accepted.append(raw)
                self._nonces[deed.sender.address] += 1
        self._close(
            self.head.timestamp
            + (self.luck.randint(1, 3) if self.luck.random() > LEAPS else LEAP_S)
        )
        return len(accepted)

    def _mine(self, block: Block) -> None:
        for raw in block.raws:
            self._send(raw)
        self._close(block.at)

    def _nonce(self, sender: Persona) -> int:
        if sender.address not in self._nonces:
            self._nonces[sender.address] = int(
                self.chain.rpc.call("eth_getTransactionCount", [sender.address, "pending"]), 16
            )
        return self._nonces[sender.address]

    def _send(self, raw: str) -> bool:
        try:
            self._raw_of[self.chain.rpc.call("eth_sendRawTransaction", [raw])] = raw
        except RpcRefusedError:
            return False  # Its nonce is used up on this branch.
        return True

    def _close(self, at: int) -> None:
        """Mine the block; what did not fit its branch is forgotten."""
        call = self.chain.rpc.call
        call("evm_setNextBlockTimestamp", [at])
        call("anvil_setNextBlockBaseFeePerGas", [hex(BASE_FEE_WEI)])
        call("evm_mine", [])
        call("anvil_dropAllTransactions", [])

    def _kept(self, raws: Sequence[str], share: float) -> list[str]:
        return [raw for raw in raws if self.luck.random() < share]

    def _seen(self) -> int:
        number = self.head.number
        self.highest = max(self.highest, number)
        return number

    def _above(self, ancestor: int) -> tuple[Block, ...]:
        headers = self.chain.reader.headers(range(ancestor + 1, self.head.number + 1))
        return tuple(
            Block(h.timestamp, tuple(self._raw_of[tx] for tx in h.transaction_hashes))
            for h in headers
            if h is not None
        )

    def _roll_back(self, depth: int) -> tuple[Block, ...]:
        blocks = self._above(self.head.number - depth)
        self._remember(depth)
        self.chain.rpc.call("anvil_rollback", [depth])
        return blocks

    def _remember(self, depth: int) -> None:
        """Let the bad nodes still know the branch that goes."""
        head = self.head.number
        heights = range(head - depth + 1, head + 1)
        full = self.chain.rpc.batch(
            [("eth_getBlockByNumber", [hex(number), True]) for number in heights]
        )
        receipts = self.chain.rpc.batch(
            [("eth_getBlockReceipts", [block["hash"]]) for block in full]
        )
        branch = Branch(
            ancestor=head - depth,
            head=head,
            blocks={number: _light(block) for number, block in zip(heights, full, strict=True)},
            receipts={block["hash"]: found for block, found in zip(full, receipts, strict=True)},
            transactions={tx["hash"]: tx for block in full for tx in block["transactions"]},
        )
        for node in self.nodes:
            node.branch = branch


def _light(block: dict[str, Any]) -> dict[str, Any]:
    return {**block, "transactions": [tx["hash"] for tx in block["transactions"]]}
