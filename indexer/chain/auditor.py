"""The auditor: is the record what another node says the chain is, and are the ledgers what they say
of themselves?

    finalized (second node), at most our cursor
        |-- blocks: half drawn among those with rows, half among all  ->  logs, reverted calls and vaults, both ways
        |-- accounts of ours: every transaction was planned (own_keys.py)
        '-- ledgers, in turn  ->  hash chain, head, projections, weeks;  cash and totals  ->  balanceOf(vault), totals() at that block

Laws
- Only final blocks are looked at, and each fault is looked at twice before it is written down: what
  a reorg or a node that lags can explain is no finding. A node that contradicts itself, or is away,
  ends the round without one.
- USDC may be sent to a vault by anybody: a balance above the ledger's cash is explained, one below it
  is a finding.
- It works beside the loop and never for it: between two pieces of work it rests at least as long as
  the last one took.
- It repairs nothing. Findings are rows; a rebuild or a person closes them.
Source: law 7 of docs/architecture.md; docs/decisions/0018.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog
from sqlalchemy.orm import Session

from core.audit import queries as repository
from core.audit.rules import Fault, FindingKind
from core.audit.views import LedgerToVerify, ledgers_in_turn
from core.blocks import queries as chain_repository
from core.blocks.queries import (
    REVERTS,
    REVERTS_SINCE,
    REVERTS_UNTIL,
    TIP,
    height_after,
    kept_header,
)
from core.blocks.registry import adapters_since, agents_since
from core.blocks.tables import RawLogRow, RevertedTx
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.state import MandateState
from core.money import usdc_text
from indexer.chain.audit_block import (
    Known,
    block_findings,
    no_such_block,
    read_kept,
    wallets_paid_in,
)
from indexer.chain.context import ChainContext
from indexer.chain.fetch import BlockUnavailableError, fetch_block
from indexer.chain.own_keys import OwnKeys
from indexer.chain.watch import read_watch_list

LEDGERS_A_ROUND = 4
FAULTS_A_LEDGER = (
    10  # one row that is gone unhinges every row after it: the first faults say enough
)
REVERTS_SHARE = 4  # every fourth of the blocks with rows is drawn among those with reverted calls

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Looked:
    """What one round looked at, and the findings that are new."""

    blocks: int
    ledgers: int
    findings: tuple[Fault, ...]


class Auditor:
    """`chain` holds the second node's reader and a database of its own. Not thread-safe."""

    def __init__(
        self,
        chain: ChainContext,
        clock: Callable[[], datetime],
        *,
        blocks_a_round: int,
        is_same_provider: bool,
        draw: random.Random,
        rest: Callable[[float], None],
    ) -> None:
        """`rest(seconds)` waits before the next piece of work; it may raise to end the round."""
        self._chain = chain
        self._clock = clock
        self._blocks_a_round = blocks_a_round
        self._is_same_provider = is_same_provider
        self._draw = draw
        self._rest = rest
        self._own_keys = OwnKeys(chain, clock)

    def round(self) -> Looked:
        """Look once at some blocks and some ledgers.

        Errors: OutsideError, LeadershipLostError; what was found until then stands.
        """
        self._chain.reader.rpc.keep_to(self._chain.chain_id)
        of_keys = self._own_keys.look()
        final = self._final()
        if final is None:
            return Looked(0, 0, tuple(of_keys))
        with self._chain.database.read() as session:
            numbers = self._drawn(session, final.number)
            ledgers = ledgers_in_turn(session, self._chain.chain_id, final.number, LEDGERS_A_ROUND)
            known = self._known(session)
        found = [self._unhurried(partial(self._block, number, known)) for number in numbers]
        found += [self._unhurried(partial(self._ledger, ledger, final)) for ledger in ledgers]
        self._end(len(numbers), len(ledgers))
        findings = [*of_keys, *(finding for some in found for finding in some)]
        return Looked(len(numbers), len(ledgers), tuple(findings))

    def _final(self) -> BlockHeader | None:
        """The highest block that is final for that node and in the record.

        None: there is none yet, or the node can't say.
        """
        try:
            header = self._chain.reader.header("finalized")
        except RpcRefusedError:
            return None
        with self._chain.database.read() as session:
            cursor = chain_repository.cursor(session, TIP)
        if header is None or cursor is None:
            return None
        return header if header.number <= cursor.number else self._header(cursor.number)

    def _header(self, number: int) -> BlockHeader:
        header = self._chain.reader.header(number)
        if header is None:
            raise BlockUnavailableError(number, "")
        return header

    def _drawn(self, session: Session, last: int) -> list[int]:
        """Heights to look at: half with rows, half anywhere, none twice."""
        first = chain_repository.oldest_block(session, self._chain.chain_id).number + 1
        if first > last:
            return []
        with_rows = [
            self._with_rows(session, index, first, last)
            for index in range(self._blocks_a_round // 2)
        ]
        anywhere = self._draw.sample(
            range(first, last + 1), min(self._blocks_a_round - len(with_rows), last + 1 - first)
        )
        return sorted({number for number in with_rows if number is not None} | set(anywhere))

    def _with_rows(self, session: Session, index: int, first: int, last: int) -> int | None:
        point = self._draw.randbytes(32)
        table = RevertedTx if index % REVERTS_SHARE == REVERTS_SHARE - 1 else RawLogRow
        found = height_after(session, table, self._chain.chain_id, point, first, last)
        return (
            found
            if found is not None or table is RawLogRow
            else self._with_rows(session, 0, first, last)
        )

    def _unhurried(self, work: Callable[[], list[Fault]]) -> list[Fault]:
        """Do it, write down what is new, then rest for as long as it took."""
        begun = time.monotonic()
        findings = work()
        new = self._write(findings) if findings else []
        self._rest(time.monotonic() - begun)
        return new

    # Blocks

    def _block(self, number: int, known: Known) -> list[Fault]:
        """What stays wrong at a second look, with what is known by then."""
        return _confirmed(self._compared(number, known), lambda: self._compared(number, None))

    def _compared(self, number: int, known: Known | None) -> list[Fault]:
        """`known` None: read it now."""
        with self._chain.reader.rpc.pinned():
            header = self._header(number)
            block = fetch_block(self._chain.reader, header)
        chain_id = self._chain.chain_id
        with self._chain.database.read() as session:
            ours = kept_header(session, chain_id, number)
            if ours is None or ours.hash != header.hash:
                return [
                    no_such_block(
                        chain_id, number, None if ours is None else ours.hash, header.hash
                    )
                ]
            kept, wallets = (
                read_kept(session, chain_id, ours),
                wallets_paid_in(session, block, self._chain.usdc),
            )
            return block_findings(block, kept, known or self._known(session), wallets, chain_id)

    def _known(self, session: Session) -> Known:
        chain_id = self._chain.chain_id
        adapters = adapters_since(session, chain_id)
        if self._chain.x402_adapter is not None:
            adapters.pop(self._chain.x402_adapter, None)
        since = chain_repository.cursor(session, REVERTS_SINCE)
        owed, until = (
            chain_repository.cursor(session, REVERTS),
            chain_repository.cursor(session, REVERTS_UNTIL),
        )
        return Known(
            read_watch_list(session, self._chain),
            adapters,
            agents_since(session, chain_id),
            -1 if since is None else since.number,
            None if owed is None or until is None else (owed.number, until.number),
        )

    # Ledgers

    def _ledger(self, ledger: LedgerToVerify, final: BlockHeader) -> list[Fault]:
        found = _confirmed(self._judged(ledger, final), lambda: self._judged(ledger, final))
        with self._chain.database.write() as session:
            self._chain.fence(session)
            repository.ledger_verified(session, ledger.mandate_id, self._clock())
        return found

    def _judged(self, ledger: LedgerToVerify, final: BlockHeader) -> list[Fault]:
        return self._verified(ledger) + self._reconciled(ledger, final)

    def _verified(self, ledger: LedgerToVerify) -> list[Fault]:
        with self._chain.database.read() as session:
            faults = mandate_ledger.verify(session, ledger.mandate_id)
        return [
            _of_ledger(
                FindingKind.LEDGER,
                ledger,
                fault.split(" is ")[0],
                f"the ledger of {ledger.public_id}: {fault}",
            )
            for fault in faults[:FAULTS_A_LEDGER]
        ]

    def _reconciled(self, ledger: LedgerToVerify, final: BlockHeader) -> list[Fault]:
        """Nothing is said where the record has another block at that height: that is a finding of
        its own.
        """
        with self._chain.database.read() as session:
            ours = chain_repository.canonical_hash(session, self._chain.chain_id, final.number)
            if ledger.vault is None or ours != final.hash:
                return []
            state = mandate_ledger.load_at(session, ledger.mandate_id, final.number)
        with self._chain.reader.rpc.pinned():
            balance = self._chain.reader.usdc_balance(ledger.vault, final.hash)
            totals = self._chain.reader.totals(ledger.vault, final.hash)
        told = (
            totals.deposited,
            totals.spent,
            totals.received,
            totals.withdrawn,
            totals.unvalued_out,
        )
        return [
            *cash_faults(ledger, state, balance, final.number),
            *totals_faults(ledger, state, told, final.number),
        ]

    # Writing

    def _write(self, findings: Sequence[Fault]) -> list[Fault]:
        """Those that were not written before."""
        now, new = self._clock(), []
        with self._chain.database.write() as session:
            self._chain.fence(session)
            for finding in findings:
                identifier = repository.add_finding(session, self._chain.chain_id, finding, now)
                new += [] if identifier is None else [(identifier, finding)]
        for identifier, finding in new:
            log.error("audit finding", id=identifier, kind=finding.kind.value, what=finding.what)
        return [finding for _, finding in new]

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


def _confirmed(first: list[Fault], again: Callable[[], list[Fault]]) -> list[Fault]:
    """Those that a second look finds too; there is none when the first found nothing."""
    if not first:
        return []
    keys = {finding.key for finding in again()}
    return [finding for finding in first if finding.key in keys]


def cash_faults(
    ledger: LedgerToVerify, state: MandateState, balance: int, number: int
) -> list[Fault]:
    if balance >= state.cash_usdc_e6:
        return []
    what = (
        f"the ledger of {ledger.public_id} has {usdc_text(state.cash_usdc_e6)} USDC in the vault "
        f"at block {number}, the chain {usdc_text(balance)}"
    )
    return [_of_ledger(FindingKind.CASH, ledger, "below", what)]


def totals_faults(
    ledger: LedgerToVerify, state: MandateState, told: tuple[int, ...], number: int
) -> list[Fault]:
    booked = (
        state.deposited_usdc_e6,
        state.spent_usdc_e6,
        state.received_usdc_e6,
        state.withdrawn_usdc_e6,
        state.unvalued_out_usdc_e6,
    )
    names = ("deposited", "spent", "received", "withdrawn", "out unvalued")
    return [
        _of_ledger(
            FindingKind.TOTALS,
            ledger,
            name,
            f"the ledger of {ledger.public_id} has {usdc_text(ours)} USDC {name} at block "
            f"{number}, its vault {usdc_text(theirs)}",
        )
        for name, ours, theirs in zip(names, booked, told, strict=True)
        if ours != theirs
    ]


def _of_ledger(kind: FindingKind, ledger: LedgerToVerify, fault: str, what: str) -> Fault:
    return Fault(
        kind, f"{kind.value}:{ledger.mandate_id}:{fault}", what, {"mandate": ledger.public_id}
    )
