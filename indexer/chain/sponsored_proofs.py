"""Verdicts on sponsored buys, before anybody calls them final.

    a use, in a safe block    --a node's receipts make up the receiptsRoot that the block's hash commits to--> proved; what
                                the record said otherwise of these authorizations in that block is replaced
                             |--none does, two nodes say the same and none anything else--> proved
                             '--else--> disputed, asked again
    no use, time is over      --at the safe block, which is after the end, nodes call it unused: two, or the only one--> proved
                             |--one calls it used--> its block is looked for, and what that holds is proved as above
                             '--else--> disputed, asked again

Laws
- A block's hash is the record's, and two nodes agreed that it is safe where two answer
  (finality.py); so whose receipts they are does not matter.
- What no node answers waits: its block, or the authorization, rests, 5 s at first and 10 minutes at
  most, so that blocks whose receipts are too many to be had hold up no other. After UNTOLD_TRIES it is
  disputed, so that whoever reads the buy, and whoever runs this, is told.
- What cannot be read, or contradicts itself, is no word of a node.
- The loop of the tip waits meanwhile: a round begins nothing new after ROUND_S, and nodes have
  NODES_WITHIN_S to answer, twice as long where they did not before, MOST_WITHIN_S at most.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import SAFE
from core.chain import proof, results
from core.chain.abi import AbiDecodeError, FunctionAbi, address_word, function
from core.chain.blocks import RawLog
from core.chain.nodes import Request
from core.chain.proof import SealedHeader
from core.sponsored import proofs, queries
from core.sponsored.logs import AuthorizationLog, authorization_topics, authorizations_in
from core.sponsored.proofs import SafeSpan, Unproved
from core.sponsored.rules import ProvedBy
from indexer.chain.context import ChainContext
from indexer.chain.fetch import FetchedBlock
from indexer.chain.proved_blocks import proved_block, told_of

NODES_WITHIN_S, MOST_WITHIN_S = 2.0, 8.0
A_ROUND = 20
ROUND_S = 2.0
UNTOLD_TRIES = 6  # over two and a half minutes
FULL_LOOK = timedelta(minutes=5)  # between looks at all that was ever quoted
RECENT_S, RECENT_BLOCKS = 86_400, 43_200  # what each round looks at
WORD_BYTES = 32
MOST_BLOCKS_FOUND = 4  # in which one authorization is said to be used

Uses = tuple[AuthorizationLog, ...]
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Rest:
    """Of what no node told, `tries` times: it is asked again at `until`."""

    until: datetime
    tries: int


class Proving:
    """Of one chain, some each round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._full_at: datetime | None = None
        self._resting = dict[str, _Rest]()
        self._over_at = 0.0

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's."""
        chain, now = self._chain, self._clock()
        self._over_at = time.monotonic() + ROUND_S
        self._resting = {
            key: rest for key, rest in self._resting.items() if now - rest.until < proofs.MOST_WAIT
        }
        resting = [key for key, rest in self._resting.items() if rest.until > now]
        with chain.database.read() as session:
            safe = repository.cursor(session, SAFE)
            if safe is None or queries.heights(session, chain.chain_id).safe_at is None:
                return
            safe_at = repository.block_time(session, chain.chain_id, safe.hash) or 0
            is_full = self._full_at is None or now - self._full_at >= FULL_LOOK
            recent = SafeSpan(
                safe.number, safe_at, max(0, safe.number - RECENT_BLOCKS), safe_at - RECENT_S
            )
            span = SafeSpan(safe.number, safe_at) if is_full else recent
            waiting = proofs.unproved(session, chain.chain_id, span, now, A_ROUND, resting)
            counts = proofs.unproved_counts(session, chain.chain_id, span) if is_full else None
        for block_hash, nonces in waiting.blocks.items():
            if not self._prove_block(block_hash, nonces) or self._is_over():
                break
        if waiting.unused and not self._is_over():
            self._prove_unused(waiting, safe.hash, span)
        self._full_at = now if is_full else self._full_at
        if counts is not None or waiting.blocks or waiting.unused:
            with chain.database.read() as session:
                chain.metrics.sponsored(*proofs.unproved_counts(session, chain.chain_id, recent))

    def _is_over(self) -> bool:
        return time.monotonic() >= self._over_at

    # A block that holds uses

    def _prove_block(self, block_hash: str, nonces: Sequence[str]) -> bool:
        """Whether any node told of it; else it rests."""
        told = told_of(self._chain.reader.rpc, block_hash, self._within_s(block_hash))
        if not told:
            self._untold(block_hash, nonces, f"no node gives the receipts of block {block_hash}")
            return False
        self._resting.pop(block_hash, None)
        proved = proved_block(told)
        if proved is not None:
            self._replace(block_hash, nonces, self._uses_in(proved), ProvedBy.RECEIPTS)
            return True
        said = [
            None
            if one.block is None
            else tuple(use for use in self._uses_in(one.block) if use.nonce in nonces)
            for one in told.values()
        ]
        if len(said) > 1 and said[0] is not None and len(set(said)) == 1:
            self._replace(block_hash, nonces, said[0], ProvedBy.NODES)
            return True
        names = ", ".join(sorted(told))
        self._dispute(
            nonces,
            f"what {names} say of block {block_hash} does not make up its hash, and no second node "
            "says the same",
        )
        return True

    def _uses_in(self, block: FetchedBlock) -> Uses:
        return authorizations_in(block.logs, self._chain.usdc)

    def _untold(self, key: str, nonces: Sequence[str], why: str) -> None:
        """`key`: a block or a nonce, which no node told of once more."""
        rest = self._resting.get(key)
        tries = 1 if rest is None else rest.tries + 1
        self._resting[key] = _Rest(self._clock() + proofs.wait_after(tries), tries)
        if tries >= UNTOLD_TRIES:
            self._dispute(nonces, f"{why}; it was asked for {tries} times")

    def _within_s(self, *keys: str) -> float:
        """How long nodes may take for these: longer where they did not tell before."""
        tries = max((self._resting[key].tries for key in keys if key in self._resting), default=0)
        return min(MOST_WITHIN_S, NODES_WITHIN_S * (1 << min(tries, UNTOLD_TRIES)))

    def _replace(self, block_hash: str, nonces: Sequence[str], uses: Uses, by: ProvedBy) -> None:
        """The record holds of this block and these nonces what was proved, and nothing else."""
        chain, now = self._chain, self._clock()
        right = [use for use in uses if use.nonce in nonces]
        used = {use.nonce for use in right}
        with chain.database.write() as session:
            chain.fence(session)
            changed = queries.note_proved(session, chain.chain_id, block_hash, nonces, right)
            proofs.prove(session, chain.chain_id, used, block_hash, by, now, is_used=True)
            proofs.settle(session, chain.chain_id, set(nonces) - used)
        if changed:
            log.error("uses of a block were not as recorded", block=block_hash, nonces=nonces)

    # Authorizations that nobody used

    def _prove_unused(self, waiting: Unproved, safe_hash: str, span: SafeSpan) -> None:
        chain, nonces = self._chain, list(waiting.unused)
        requests: list[Request] = [("eth_getBlockByHash", [safe_hash, False])]
        requests += [
            (
                "eth_call",
                [
                    {"to": chain.usdc, "data": _state().encode(waiting.unused[nonce], nonce)},
                    {"blockHash": safe_hash},
                ],
            )
            for nonce in nonces
        ]
        parse: list[Any] = [proof.sealed_header, *[results.code] * len(nonces)]
        answers = chain.reader.rpc.batch_of_each(requests, self._within_s(*nonces), parse=parse)
        times = [header for header, *_ in answers.values() if isinstance(header, SealedHeader)]
        if not times:
            for nonce in nonces:
                self._untold(nonce, [nonce], f"no node answers at block {safe_hash}")
            return
        if not _is_agreed_time(times, safe_hash, span.at):
            self._dispute(nonces, f"nodes disagree about the time of block {safe_hash}")
            return
        alone = len(chain.reader.rpc.names) == 1
        for place, nonce in enumerate(nonces, 1):
            if self._is_over():
                return
            said = {
                name: used
                for name, answer in answers.items()
                if (used := _was_used(answer[place])) is not None
            }
            if True in said.values():
                self._look_for(nonce, waiting, span)
            elif len(said) > 1 or (alone and said):
                by = ProvedBy.ONE_NODE if alone else ProvedBy.NODES
                with chain.database.write() as session:
                    chain.fence(session)
                    proofs.prove(
                        session,
                        chain.chain_id,
                        [nonce],
                        safe_hash,
                        by,
                        self._clock(),
                        is_used=False,
                    )
            elif said:
                self._dispute([nonce], f"only {', '.join(said)} says that it was never used")
            else:
                self._untold(nonce, [nonce], "no node says whether it was used")

    def _look_for(self, nonce: str, waiting: Unproved, span: SafeSpan) -> None:
        """A use that the record lacks."""
        found = self._blocks_with(waiting.unused[nonce], nonce, waiting.since, span)
        for block_hash in found:
            self._prove_block(block_hash, [nonce])
        with self._chain.database.read() as session:
            is_known = queries.is_seen_used(session, self._chain.chain_id, nonce)
        if not is_known:
            self._dispute(
                [nonce], "a node says that it was used, and no block is known that holds the use"
            )

    def _blocks_with(self, buyer: str, nonce: str, since: int, span: SafeSpan) -> list[str]:
        """Hashes of blocks of the record in which some node has the use."""
        chain = self._chain
        with chain.database.read() as session:
            first = _first_since(session, chain.chain_id, since, span.number)
        request: Request = (
            "eth_getLogs",
            [
                {
                    "fromBlock": hex(first),
                    "toBlock": hex(span.number),
                    "address": chain.usdc,
                    "topics": [[*authorization_topics()], address_word(buyer), nonce],
                }
            ],
        )
        answers = chain.reader.rpc.batch_of_each([request], NODES_WITHIN_S, parse=[results.logs])
        logs: list[RawLog] = [
            one
            for (answer,) in answers.values()
            if isinstance(answer, list)
            for one in answer[:MOST_BLOCKS_FOUND]
        ]
        with chain.database.read() as session:
            hashes = dict.fromkeys(
                one.block_hash
                for one in logs
                if repository.canonical_hash(session, chain.chain_id, one.block_number)
                == one.block_hash
            )
        return list(hashes)

    def _dispute(self, nonces: Sequence[str], why: str) -> None:
        chain = self._chain
        log.error("sponsored buy disputed", nonces=nonces, why=why)
        with chain.database.write() as session:
            chain.fence(session)
            proofs.dispute(session, chain.chain_id, nonces, why, self._clock())


def _state() -> FunctionAbi:
    return function("MockUSDC", "authorizationState")


def _was_used(word: object) -> bool | None:
    """None: it says nothing of it."""
    if not isinstance(word, bytes) or len(word) != WORD_BYTES:
        return None
    try:
        return bool(_state().decode_output(word)[0])
    except AbiDecodeError:
        return None


def _is_agreed_time(headers: Sequence[SealedHeader], block_hash: str, at: int) -> bool:
    """Whether the block's time is the recorded one: by its hash, or as all say."""
    right = [one for one in headers if one.header.hash == block_hash]
    proved = [one for one in right if one.receipts_root is not None]
    return bool(right) and all(one.header.timestamp == at for one in proved or right)


def _first_since(session: Session, chain_id: int, since: int, last: int) -> int:
    """The height of the record's first block at or after that second, or a lower one."""
    low, high = repository.oldest_block(session, chain_id).number, last
    while low < high:
        middle = (low + high) // 2
        found = repository.kept_header(session, chain_id, middle)
        if found is None or found.timestamp < since:
            low = middle + 1
        else:
            high = middle
    return low
