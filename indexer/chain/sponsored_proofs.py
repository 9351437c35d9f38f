"""Verdicts on sponsored buys, before anybody calls them final.

    a use, in a safe block    --two nodes have the same logs of it there, or the only one--> proved; what the record said otherwise of
                                these authorizations in that block is replaced
                             '--else--> disputed, asked again
    no use, time is over      --at the safe block, which is after the end, nodes call it unused: two, or the only one--> proved
                             |--one calls it used--> its block is looked for, and what that holds is proved as above
                             '--else--> disputed, asked again

Laws
- What cannot be read is no word of a node. What nobody answers is disputed like what nodes disagree
  about, and asked again after 5 s at first and 10 minutes at most: it holds up no other.
- The loop of the tip waits meanwhile: a round begins nothing new after ROUND_S, and nodes have
  NODES_WITHIN_S to answer.
"""

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog
from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.queries import SAFE
from core.chain import results
from core.chain.abi import AbiDecodeError, FunctionAbi, address_word, function
from core.chain.blocks import BlockHeader
from core.chain.nodes import Request
from core.sponsored import proofs, queries
from core.sponsored.logs import (
    AuthorizationLog,
    authorization_topics,
    authorizations_in,
    bought_event,
)
from core.sponsored.proofs import SafeSpan, Unproved
from core.sponsored.rules import ProvedBy
from indexer.chain.context import ChainContext

NODES_WITHIN_S = 4.0
A_ROUND = 20
ROUND_S = 2.0
FULL_LOOK = timedelta(minutes=5)  # between looks at all that was ever quoted
RECENT_S, RECENT_BLOCKS = 86_400, 43_200  # what each round looks at
WORD_BYTES = 32
MOST_BLOCKS_FOUND = 4  # in which one authorization is said to be used

Uses = tuple[AuthorizationLog, ...]
T = TypeVar("T")
log = structlog.get_logger(__name__)


class Proving:
    """Of one chain, some each round. Not thread-safe."""

    def __init__(self, chain: ChainContext, clock: Callable[[], datetime]) -> None:
        self._chain = chain
        self._clock = clock
        self._full_at: datetime | None = None
        self._over_at = 0.0
        self._is_alone = len(chain.reader.rpc.names) == 1
        self._by = ProvedBy.ONE_NODE if self._is_alone else ProvedBy.NODES

    def round(self) -> None:
        """Errors: LeadershipLostError, and the database's."""
        chain, now = self._chain, self._clock()
        self._over_at = time.monotonic() + ROUND_S
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
            waiting = proofs.unproved(session, chain.chain_id, span, now, A_ROUND)
            counts = proofs.unproved_counts(session, chain.chain_id, span) if is_full else None
        for block_hash, nonces in waiting.blocks.items():
            self._prove_block(block_hash, nonces)
            if self._is_over():
                break
        if waiting.unused and not self._is_over():
            self._prove_unused(waiting, safe.hash, span)
        self._full_at = now if is_full else self._full_at
        if counts is not None or waiting.blocks or waiting.unused:
            with chain.database.read() as session:
                chain.metrics.sponsored(*proofs.unproved_counts(session, chain.chain_id, recent))

    def _is_over(self) -> bool:
        return time.monotonic() >= self._over_at

    def _asked(self, requests: Sequence[Request], parse: Sequence[Any]) -> dict[str, list[Any]]:
        return self._chain.reader.rpc.batch_of_each(requests, NODES_WITHIN_S, parse=parse)

    def _agreed(self, said: Mapping[str, T]) -> T | None:
        """What two nodes say, and fewer say anything else; or the only one that there is."""
        counts = Counter(said.values()).most_common(2)
        (first, votes), others = counts[0] if counts else (None, 0), sum(n for _, n in counts[1:])
        return first if votes > others and (votes > 1 or self._is_alone) else None

    # A block that holds uses

    def _prove_block(self, block_hash: str, nonces: Sequence[str]) -> None:
        usdc, said = self._chain.usdc, dict[str, Uses]()
        requests: list[Request] = [
            ("eth_getLogs", [{"blockHash": block_hash, "address": usdc}]),
            ("eth_getLogs", [{"blockHash": block_hash, "topics": [bought_event().topic]}]),
        ]
        for name, found in self._asked(requests, [results.logs] * 2).items():
            if all(isinstance(one, list) for one in found):
                logs = [one for some in found for one in some if one.block_hash == block_hash]
                uses = authorizations_in(sorted(logs, key=lambda one: one.log_index), usdc)
                said[name] = tuple(one for one in uses if one.nonce in nonces)
        agreed = self._agreed(said)
        if agreed is not None:
            self._replace(block_hash, nonces, agreed)
        elif not said:
            self._dispute(nonces, f"no node gives the logs of block {block_hash}")
        else:
            names = ", ".join(sorted(said))
            self._dispute(nonces, f"of block {block_hash} no two nodes say the same, of {names}")

    def _replace(self, block_hash: str, nonces: Sequence[str], uses: Uses) -> None:
        """The record holds of this block and these nonces what was proved, and nothing else."""
        chain, now, used = self._chain, self._clock(), {use.nonce for use in uses}
        with chain.database.write() as session:
            chain.fence(session)
            changed = queries.note_proved(session, chain.chain_id, block_hash, nonces, uses)
            proofs.prove(session, chain.chain_id, used, block_hash, self._by, now, is_used=True)
            proofs.settle(session, chain.chain_id, set(nonces) - used)
        if changed:
            log.error("uses of a block were not as recorded", block=block_hash, nonces=nonces)

    # Authorizations that nobody used

    def _prove_unused(self, waiting: Unproved, safe_hash: str, span: SafeSpan) -> None:
        usdc, nonces, at = self._chain.usdc, list(waiting.unused), {"blockHash": safe_hash}
        requests: list[Request] = [("eth_getBlockByHash", [safe_hash, False])]
        for nonce, buyer in waiting.unused.items():
            call = {"to": usdc, "data": _state().encode(buyer, nonce)}
            requests.append(("eth_call", [call, at]))
        answers = self._asked(requests, [results.header, *[results.code] * len(nonces)])
        times = {one.timestamp for one, *_ in answers.values() if isinstance(one, BlockHeader)}
        if times != {span.at}:
            what = "nodes disagree about the time of" if times else "no node answers at"
            self._dispute(nonces, f"{what} block {safe_hash}")
            return
        for place, nonce in enumerate(nonces, 1):
            if self._is_over():
                return
            words = {name: _was_used(answer[place]) for name, answer in answers.items()}
            said = {name: used for name, used in words.items() if used is not None}
            if True in said.values():
                self._look_for(nonce, waiting, span)
            elif self._agreed(said) is False:
                chain, now = self._chain, self._clock()
                with chain.database.write() as session:
                    chain.fence(session)
                    about = (chain.chain_id, [nonce], safe_hash, self._by, now)
                    proofs.prove(session, *about, is_used=False)
            else:
                who = f"only {', '.join(said)} says" if said else "no node says"
                self._dispute([nonce], f"{who} that it was never used")

    def _look_for(self, nonce: str, waiting: Unproved, span: SafeSpan) -> None:
        """A use that the record lacks, in the blocks of the record in which some node has it."""
        chain = self._chain
        with chain.database.read() as session:
            first = _first_since(session, chain.chain_id, waiting.since, span.number)
        buyer = address_word(waiting.unused[nonce])
        wanted = {
            "fromBlock": hex(first),
            "toBlock": hex(span.number),
            "address": chain.usdc,
            "topics": [[*authorization_topics()], buyer, nonce],
        }
        said = [one for (one,) in self._asked([("eth_getLogs", [wanted])], [results.logs]).values()]
        lists = [one[:MOST_BLOCKS_FOUND] for one in said if isinstance(one, list)]
        hashes = dict.fromkeys(one.block_hash for logs in lists for one in logs)
        with chain.database.read() as session:
            times = repository.canonical_times(session, chain.chain_id, hashes)
        for block_hash in (one for one in hashes if one in times):
            self._prove_block(block_hash, [nonce])
        with chain.database.read() as session:
            is_known = queries.is_seen_used(session, chain.chain_id, nonce)
        if not is_known:
            self._dispute(
                [nonce], "a node says that it was used, and no block is known that holds the use"
            )

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


def _first_since(session: Session, chain_id: int, since: int, last: int) -> int:
    """The height of the record's first block at or after that second, or a lower one."""

    def time_at(number: int) -> int:
        found = repository.kept_header(session, chain_id, number)
        return 0 if found is None else found.timestamp

    first = repository.oldest_block(session, chain_id).number
    return first + bisect_left(range(first, last), since, key=time_at)
