"""The deposit watcher: what agents report of their wallets' transfers is looked up on the chain,
and its ledgers follow.

Laws
- A block is believed when it is canonical here and not above the mark `safe` (finality.py), itself
  canonical here. Until the indexer and the node have both, nothing is judged.
- One node answers for all of a look, and what it says of a transaction is held against its block's
  header and against the logs that we keep of it. What contradicts them judges nothing, and that
  node rests until another one has answered the next look; so does one that refuses a receipt, or
  lacks one that another node has when its report would fail for it.
- What is wrong with one report, or with what it points at, is its own trouble: it is looked at
  again later, the others now.
- One report is one transaction, fenced: its step and its ledger together, or neither.
- A confirmed report is not asked for again: a reorg finds it by its block, in the transaction of
  the unwind.
Source: docs/transfers.md; core/transfers/rules.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import structlog

from core.blocks import queries as chain_repository
from core.blocks.queries import SAFE
from core.chain.blocks import BlockHeader, TransactionReceipt
from core.chain.errors import RpcRefusedError
from core.chain.reader import receipt_of
from core.db.engine import WriteSession
from core.hexes import hex_of
from core.identity.queries import linked_wallets
from core.quarantine.queries import ACCOUNT
from core.transfers import queries as repository
from core.transfers import reports as transfer_reports
from core.transfers.logs import transfers_of
from core.transfers.rules import (
    Direction,
    Failure,
    Sighting,
    State,
    TransferVerdict,
    Watched,
    funder_of,
    judge,
    moved,
)
from core.transfers.views import DueReport, due_reports
from indexer.chain.context import ChainContext
from indexer.chain.facts import deposit_of, paid_account, usdc_payees
from indexer.chain.fetch import BlockContradictionError, receipt_fault
from indexer.chain.quarantine import MAY_REFUSE, LedgerEntry, Taking, refusal_of

# a wallet that was linked this shortly before a block may not have been known yet when it was
# written
LINK_MARGIN_S = 10
REST_S = 90.0  # of a node that contradicts: a report is looked at again within a minute
WITHIN_S = 2.0  # for other nodes to say whether they have a receipt
REPORTS_A_LOOK = 10  # each a receipt and a header; a look a second, beside the tip

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Moved:
    """A step that a report took."""

    tx_hash: str
    verdict: TransferVerdict
    failure: Failure | None


Answer = TransactionReceipt | RpcRefusedError | None
Headers = Mapping[str, BlockHeader | None]  # by hash; None: the node lacks it


def watch_deposits(chain: ChainContext, now: datetime) -> list[Moved]:
    """Look at every report that is due, once. Errors: RpcUnreachableError, LeadershipLostError."""
    with chain.database.read() as session:
        due = due_reports(session, chain.chain_id, now, REPORTS_A_LOOK)
        mark = chain_repository.cursor(session, SAFE)
        at = -1 if mark is None else mark.number
        safe = chain_repository.kept_header(session, chain.chain_id, at)
    if not due or safe is None:
        return []
    with chain.reader.rpc.pinned():
        # asked for first: a receipt that is missing is missing at the safe block too
        if chain.reader.header(safe.hash) is None:
            return []
        answers = chain.reader.receipts_settled([report.tx_hash for report in due])
        seen = [one for one in answers if isinstance(one, TransactionReceipt)]
        hashes = list(dict.fromkeys(one.block_hash for one in seen))
        headers = dict(zip(hashes, chain.reader.headers(hashes), strict=True))
        look, pairs = _Look(chain, safe, now), zip(due, answers, strict=True)
        steps = [look.step_alone(report, answer, headers) for report, answer in pairs]
    found = [step for step in steps if step and step.verdict is not TransferVerdict.WAIT]
    for step in found:
        verdict, failure = step.verdict.value, step.failure
        log.info("transfer report", tx_hash=step.tx_hash, verdict=verdict, failure=failure)
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    chain: ChainContext
    safe: BlockHeader
    now: datetime

    def step_alone(self, due: DueReport, answer: Answer, headers: Headers) -> Moved | None:
        chain = self.chain
        try:
            if isinstance(answer, RpcRefusedError):
                raise answer
            if answer is None and due.deadline < self.safe.timestamp and self._is_elsewhere(due):
                raise BlockContradictionError(self.safe, f"another node has {due.tx_hash}")
            return self._step(due, answer, None if answer is None else headers[answer.block_hash])
        except (BlockContradictionError, RpcRefusedError) as error:
            chain.reader.rpc.distrust("contradicts", REST_S)
            why = str(error)[:200]
        except MAY_REFUSE as error:
            if refusal_of(error) is None:
                raise
            why = str(error)[:200]
        log.warning("could not judge a transfer report", tx_hash=due.tx_hash, error=why)
        with chain.database.write() as session:
            chain.fence(session)
            transfer_reports.look_again(repository.lock_report(session, due.id), self.now)
        return None

    def _is_elsewhere(self, due: DueReport) -> bool:
        """Whether another node has the receipt that this one lacks."""
        asked = [("eth_getTransactionReceipt", [due.tx_hash])]
        rpc, parse = self.chain.reader.rpc, [receipt_of(due.tx_hash)]
        others = rpc.batch_of_others(asked, WITHIN_S, parse)
        return any(isinstance(one, TransactionReceipt) for (one,) in others.values())

    def _step(
        self, due: DueReport, receipt: TransactionReceipt | None, header: BlockHeader | None
    ) -> Moved | None:
        """None: the indexer does not stand where the node does, or the node lacks the receipt's
        block; or the report has moved on since it was read.
        """
        chain, safe = self.chain, self.safe
        with chain.database.write() as session:
            chain.fence(session)
            report, sighting = repository.lock_report(session, due.id), None
            if report.state != due.state or not _is_ours(session, chain, safe):
                return None
            if receipt is not None:
                sighting = self._sighting(session, due, receipt, header)
                if sighting is None:
                    transfer_reports.look_again(report, self.now)
                    return None
            block_hash = None if report.block_hash is None else hex_of(report.block_hash)
            watched = Watched(
                state=State(report.state),
                amount_e6=report.amount_e6,
                deadline=due.deadline,
                block_hash=block_hash,
            )
            step = judge(watched, sighting, safe.timestamp)
            match step.verdict:
                case TransferVerdict.WAIT:
                    transfer_reports.look_again(report, self.now)
                case TransferVerdict.SEE | TransferVerdict.UNSEE:
                    transfer_reports.see(report, sighting, self.now)
                case TransferVerdict.CLOSE:
                    transfer_reports.close(report)
                case TransferVerdict.CONFIRM:
                    assert sighting is not None, "only what was seen is confirmed"
                    transfer_reports.confirm(session, report, sighting, self.now)
                case TransferVerdict.FAIL:
                    assert step.failure is not None, "a failure has a reason"
                    transfer_reports.fail(session, report, step.failure, sighting, self.now)
            is_contradicted = step.failure is Failure.CONTRADICTED and due.direction is Direction.IN
            if receipt is not None and header is not None and is_contradicted:
                self._show(session, due, receipt, header.timestamp)
            return Moved(due.tx_hash, step.verdict, step.failure)

    def _sighting(
        self,
        session: WriteSession,
        due: DueReport,
        receipt: TransactionReceipt,
        header: BlockHeader | None,
    ) -> Sighting | None:
        """None: its block is not ours yet, or the node lacks it. Errors: BlockContradictionError."""
        if header is None or not _is_ours(session, self.chain, header):
            if receipt.block_number <= self.safe.number:
                raise BlockContradictionError(self.safe, f"{due.tx_hash} is in another block below")
            return None
        _hold_against(session, self.chain, receipt, header)
        transfers = transfers_of(receipt, self.chain.usdc)
        sum_and_log = moved(transfers, due.wallet, due.direction)
        return Sighting(
            block_hash=receipt.block_hash,
            block_number=receipt.block_number,
            at=header.timestamp,
            is_safe=receipt.block_number <= self.safe.number,
            is_success=receipt.status == 1,
            moved_e6=None if sum_and_log is None else sum_and_log[0],
            log_index=None if sum_and_log is None else sum_and_log[1],
            funder=funder_of(transfers, due.wallet),
        )

    def _show(
        self, session: WriteSession, due: DueReport, receipt: TransactionReceipt, at: int
    ) -> None:
        """What reached the wallet in truth is noted as if nobody had reported it: behind what is
        held back of its ledger, if anything is.
        """
        chain, entries = self.chain, dict[int, list[LedgerEntry]]()
        linked = {} if due.wallet is None else linked_wallets(session, [due.wallet])
        for one in receipt.logs:
            paid = paid_account(one, chain.usdc, linked, at)
            if paid is not None:
                entry = LedgerEntry(deposit_of(one, chain.chain_id), one)
                entries.setdefault(paid, []).append(entry)
        Taking(session, chain, ACCOUNT, self.now).take(entries)


def _hold_against(
    session: WriteSession, chain: ChainContext, receipt: TransactionReceipt, header: BlockHeader
) -> None:
    """The receipt fits its block's header, and both fit what we keep.

    Errors: BlockContradictionError.
    """
    fault = receipt_fault(receipt)
    stands_at = header.transaction_hashes[receipt.tx_index : receipt.tx_index + 1]
    if header.number != receipt.block_number or stands_at != (receipt.tx_hash,):
        fault = fault or f"the transaction {receipt.tx_hash} is not there"
    if receipt.logs_bloom & ~header.logs_bloom:
        fault = fault or "a receipt has a log that the header's bloom denies"
    if fault is not None:
        raise BlockContradictionError(header, fault)
    time = chain_repository.block_time(session, chain.chain_id, header.hash)
    if time is None:
        return  # it lies below our first block
    if time != header.timestamp:
        raise BlockContradictionError(header, "its time differs from the record")
    of_block = chain_repository.logs_of_block(session, chain.chain_id, header.hash)
    kept = {one for one in of_block if one.tx_hash == receipt.tx_hash}
    if kept - set(receipt.logs):
        raise BlockContradictionError(header, f"a log of {receipt.tx_hash} is left out or altered")
    # the record has the transfers to wallets that had been linked for a while by then
    linked = linked_wallets(session, usdc_payees(receipt.logs, chain.usdc))
    before = header.timestamp - LINK_MARGIN_S
    for one in receipt.logs:
        if one not in kept and paid_account(one, chain.usdc, linked, before) is not None:
            what = f"the record has no payment {one.log_index} of {receipt.tx_hash}"
            raise BlockContradictionError(header, what)


def _is_ours(session: WriteSession, chain: ChainContext, block: BlockHeader) -> bool:
    """Whether our chain holds that block; what lies below our first block is the node's word."""
    ours = chain_repository.canonical_hash(session, chain.chain_id, block.number)
    if ours is None:
        return block.number < chain_repository.oldest_block(session, chain.chain_id).number
    return ours == block.hash
