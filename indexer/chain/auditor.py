"""The record, beside what a second node says of it: blocks, and each ledger's sums.

    heights that both call final, drawn --> the node's headers --> hash, parent and time as we keep them?
    ledgers, the longest unverified first --> chain of hashes, head, projections
                                          --> the vault's position, by the lens at the block where the record stood: cash and totals?

Laws
- The node is the second of RPC_URLS; with one, the record is held against the node that it came from.
- What is found must be found twice, and is written once; a person closes it.
- A vault's logs have their own proof (log_proof.py), by all nodes.
Source: law 7 of docs/architecture.md; docs/decisions/0061.
"""

import random
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

import structlog

from core.audit import queries as repository
from core.audit.rules import Fault, FindingKind
from core.audit.views import LedgerToVerify, ledgers_in_turn
from core.blocks import queries as chain_repository
from core.blocks.queries import FINALIZED, TIP, Cursor, kept_header
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from core.mandate.chain.lens import LensPosition
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.state import MandateState
from core.money import usdc_text
from indexer.chain.context import ChainContext
from indexer.chain.own_keys import OwnKeys

LEDGERS_A_ROUND = 4
FAULTS_A_LEDGER = 10  # one row that is gone unhinges every row after it: the first ones say enough

log = structlog.get_logger(__name__)


class Auditor:
    """`chain` has the second node's reader. Not thread-safe."""

    def __init__(
        self,
        chain: ChainContext,
        clock: Callable[[], datetime],
        *,
        blocks_a_round: int,
        is_same_provider: bool,
        draw: random.Random,
    ) -> None:
        self._chain = chain
        self._clock = clock
        self._blocks_a_round = blocks_a_round
        self._is_same_provider = is_same_provider
        self._draw = draw
        self._own_keys = OwnKeys(chain, clock)

    def round(self) -> tuple[Fault, ...]:
        """Look once at some blocks and some ledgers; the findings that are new.

        Errors: OutsideError, LeadershipLostError; what was found until then is kept.
        """
        chain = self._chain
        chain.reader.rpc.keep_to(chain.chain_id)
        found = list(self._own_keys.look())
        with chain.database.read() as session:
            tip, final = (chain_repository.cursor(session, one) for one in (TIP, FINALIZED))
            if tip is None:
                return tuple(found)
            first = chain_repository.oldest_block(session, chain.chain_id).number + 1
            ledgers = ledgers_in_turn(session, chain.chain_id, tip.number, LEDGERS_A_ROUND)
        heights = range(first, first if final is None else final.number + 1)
        numbers = sorted(self._draw.sample(heights, min(self._blocks_a_round, len(heights))))
        found += self._twice(partial(self._blocks, numbers))
        for ledger in ledgers:
            found += self._twice(partial(self._ledger, ledger, tip))
        self._end(len(numbers), len(ledgers))
        return tuple(found)

    def _twice(self, look: Callable[[], list[Fault]]) -> list[Fault]:
        """What two looks find; of it what is new is written down."""
        found = look()
        again = {fault.key for fault in look()} if found else set()
        return self._write([fault for fault in found if fault.key in again])

    def _blocks(self, numbers: Sequence[int]) -> list[Fault]:
        chain, found = self._chain, list[Fault]()
        theirs = dict(zip(numbers, chain.reader.headers(numbers), strict=True)) if numbers else {}
        with chain.database.read() as session:
            for number, header in theirs.items():
                ours = kept_header(session, chain.chain_id, number)
                if header is None or (ours is not None and _place(ours) == _place(header)):
                    continue
                what = (
                    f"the record has no block {number}"
                    if ours is None
                    else f"block {number} is {ours.hash} in the record and {header.hash} on the chain"
                    if ours.hash != header.hash
                    else f"block {number}: parent or time differs from the chain's"
                )
                place = {"block_number": number, "block_hash": header.hash}
                found.append(
                    Fault(FindingKind.BLOCK, f"block:{chain.chain_id}:{number}", what, place)
                )
        return found

    def _ledger(self, ledger: LedgerToVerify, tip: Cursor) -> list[Fault]:
        with self._chain.database.read() as session:
            faults = mandate_ledger.verify(session, ledger.mandate_id)[:FAULTS_A_LEDGER]
        found = list[Fault]()
        for one in faults:
            what = f"the ledger of {ledger.public_id}: {one}"
            found.append(_of_ledger(FindingKind.LEDGER, ledger, one.split(" is ")[0], what))
        found += self._sums(ledger, tip)
        with self._chain.database.write() as session:
            self._chain.fence(session)
            repository.ledger_verified(session, ledger.mandate_id, self._clock())
        return found

    def _sums(self, ledger: LedgerToVerify, tip: Cursor) -> list[Fault]:
        """Nothing where the node lacks the block, or the record does by now."""
        chain, vault = self._chain, ledger.vault
        if vault is None:
            return []
        try:
            position = chain.reader.lens_position(vault, tip.hash)
        except RpcRefusedError:
            return []
        with chain.database.read() as session:
            ours = chain_repository.canonical_hash(session, chain.chain_id, tip.number)
            if position is None or ours != tip.hash or position.block.number != tip.number:
                return []
            state = mandate_ledger.load_at(session, ledger.mandate_id, tip.number)
        return sums_faults(ledger, state, position)

    def _write(self, findings: Sequence[Fault]) -> list[Fault]:
        """Those that were not written before."""
        if not findings:
            return []
        chain = self._chain
        with chain.database.write() as session:
            chain.fence(session)
            new = repository.add_findings(session, chain.chain_id, findings, self._clock())
        for id_, fault in new.items():
            log.error("audit finding", id=id_, kind=fault.kind.value, what=fault.what)
        return list(new.values())

    def _end(self, blocks: int, ledgers: int) -> None:
        now, chain_id = self._clock(), self._chain.chain_id
        with self._chain.database.write() as session:
            self._chain.fence(session)
            repository.round_ended(
                session, chain_id, blocks, ledgers, is_same_provider=self._is_same_provider, now=now
            )
            mismatches = repository.open_counts(session, chain_id)
        self._chain.metrics.audited(blocks, ledgers, mismatches)
        log.debug("audited", blocks=blocks, books=ledgers, open_findings=sum(mismatches.values()))


def _place(header: BlockHeader) -> tuple[str, str, int]:
    return header.hash, header.parent_hash, header.timestamp


def sums_faults(ledger: LedgerToVerify, state: MandateState, position: LensPosition) -> list[Fault]:
    """Where the ledger's sums are not its vault's. USDC that somebody sent is no fault."""
    totals, found = position.totals, list[Fault]()
    at = f"at block {position.block.number}"
    if position.balance_usdc_e6 < state.cash_usdc_e6:
        what = (
            f"the ledger of {ledger.public_id} has {usdc_text(state.cash_usdc_e6)} USDC in the vault "
            f"{at}, the chain {usdc_text(position.balance_usdc_e6)}"
        )
        found.append(_of_ledger(FindingKind.CASH, ledger, "below", what))
    for name, ours, theirs in (
        ("deposited", state.deposited_usdc_e6, totals.deposited),
        ("spent", state.spent_usdc_e6, totals.spent),
        ("received", state.received_usdc_e6, totals.received),
        ("withdrawn", state.withdrawn_usdc_e6, totals.withdrawn),
        ("out unvalued", state.unvalued_out_usdc_e6, totals.unvalued_out),
    ):
        if ours != theirs:
            what = (
                f"the ledger of {ledger.public_id} has {usdc_text(ours)} USDC {name} {at}, its vault "
                f"{usdc_text(theirs)}"
            )
            found.append(_of_ledger(FindingKind.TOTALS, ledger, name, what))
    return found


def _of_ledger(kind: FindingKind, ledger: LedgerToVerify, fault: str, what: str) -> Fault:
    return Fault(
        kind, f"{kind.value}:{ledger.mandate_id}:{fault}", what, {"mandate": ledger.public_id}
    )
