"""The deposit watcher: what agents report of their wallets' transfers is looked up on the chain, and its books follow.

Laws
- A block is believed when it is canonical here and not above the node's `safe` block, itself canonical here. Until the
  indexer has both, nothing is judged.
- One report is one transaction, fenced: its step and its book together, or neither.
- A confirmed report is not asked for again: a reorg finds it by its block, in the transaction of the unwind.
Source: wallet spec 2.16, 3.3; core/domain/transfers.py.
"""

from dataclasses import dataclass
from datetime import datetime

import structlog

from core.books import transfer_reports
from core.chain.rpc import RpcRefusedError
from core.chain.transfers import transfers_of
from core.db.engine import WriteSession
from core.db.repositories import chain as chain_repository
from core.db.repositories import transfers as repository
from core.db.repositories.chain import hex_of
from core.db.tables.transfers import TransferReport
from core.domain.blocks import BlockHeader, Receipt
from core.domain.transfers import Direction, Failure, Sighting, State, Step, Verdict, Watched, judge, moved
from indexer.chain.context import ChainContext
from indexer.chain.facts import Payment
from indexer.chain.payments import deposit_of
from indexer.chain.quarantine import MAY_REFUSE, refusal_of

REPORTS_A_LOOK = 100

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Moved:
    """A step that a report took."""

    tx_hash: str
    verdict: Verdict
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class _Due:
    """A report that is due, as it was read; `wallet` None: its agent has linked none."""

    id: int
    tx_hash: str
    state: str
    direction: Direction
    wallet: str | None


def watch_deposits(chain: ChainContext, now: datetime) -> list[Moved]:
    """Look at every report that is due, once. Errors: RpcUnreachableError, LeadershipLostError."""
    with chain.database.read() as session:
        due = [_due(report, wallet) for report, wallet in repository.due_reports(session, chain.chain_id, now, REPORTS_A_LOOK)]
    safe = _safe(chain) if due else None
    if safe is None:
        return []
    # The safe block is asked for first: a receipt that is missing is missing at that block too.
    receipts = chain.reader.receipts_of([report.tx_hash for report in due])
    steps = [_step_or_later(chain, report, receipt, safe, now) for report, receipt in zip(due, receipts, strict=True)]
    found = [step for step in steps if step is not None and step.verdict is not Verdict.WAIT]
    for step in found:
        log.info("transfer report", tx_hash=step.tx_hash, verdict=step.verdict.value, failure=step.failure)
    return found


def _due(report: TransferReport, wallet: str | None) -> _Due:
    return _Due(report.id, hex_of(report.tx_hash), report.state, Direction(report.direction), wallet)


def _safe(chain: ChainContext) -> BlockHeader | None:
    """None: the node names no safe block."""
    try:
        return chain.reader.header("safe")
    except RpcRefusedError:
        return None


def _step_or_later(chain: ChainContext, due: _Due, receipt: Receipt | None, safe: BlockHeader, now: datetime) -> Moved | None:
    """A report whose step is refused for what it says is looked at again later, and keeps no other one waiting."""
    try:
        return _take_step(chain, due, receipt, safe, now)
    except MAY_REFUSE as error:
        if refusal_of(error) is None:
            raise
        log.error("step of a transfer report is refused", tx_hash=due.tx_hash, kind=type(error).__name__)
    with chain.database.write() as session:
        chain.fence(session)
        transfer_reports.look_again(repository.lock_report(session, due.id), now)
    return None


def _take_step(chain: ChainContext, due: _Due, receipt: Receipt | None, safe: BlockHeader, now: datetime) -> Moved | None:
    """None: the indexer does not stand where the node does; or the report has moved on since it was read."""
    with chain.database.write() as session:
        chain.fence(session)
        report = repository.lock_report(session, due.id)
        if report.state != due.state or not _is_ours(session, chain, safe.number, safe.hash):
            return None
        at = None if receipt is None else _block_time(session, chain, receipt)
        if receipt is not None and at is None:
            return None
        sighting = None if receipt is None or at is None else _sighting(chain, due, receipt, at, safe)
        step = judge(_watched(report), sighting, safe.timestamp)
        _apply(session, report, step, sighting, now)
        if receipt is not None and at is not None and step.failure is Failure.CONTRADICTED and due.direction is Direction.IN:
            _show(session, chain, due, receipt, at, now)
        return Moved(due.tx_hash, step.verdict, step.failure)


def _is_ours(session: WriteSession, chain: ChainContext, number: int, block_hash: str) -> bool:
    """Whether our chain holds that block; what lies below our first block is the node's word."""
    ours = chain_repository.canonical_hash(session, chain.chain_id, number)
    if ours is None:
        return number < chain_repository.oldest_block(session, chain.chain_id).number
    return ours == block_hash


def _block_time(session: WriteSession, chain: ChainContext, receipt: Receipt) -> int | None:
    """Unix second of the receipt's block; None when our chain does not hold it (yet)."""
    if not _is_ours(session, chain, receipt.block_number, receipt.block_hash):
        return None
    ours = chain_repository.block_time(session, chain.chain_id, receipt.block_hash)
    if ours is not None:
        return ours
    header = chain.reader.header(receipt.block_hash)
    return None if header is None else header.timestamp


def _sighting(chain: ChainContext, due: _Due, receipt: Receipt, at: int, safe: BlockHeader) -> Sighting:
    sum_and_log = moved(transfers_of(receipt, chain.usdc), due.wallet, due.direction)
    return Sighting(
        block_hash=receipt.block_hash,
        block_number=receipt.block_number,
        at=at,
        is_safe=receipt.block_number <= safe.number,
        is_success=receipt.status == 1,
        moved_e6=None if sum_and_log is None else sum_and_log[0],
        log_index=None if sum_and_log is None else sum_and_log[1],
    )


def _show(session: WriteSession, chain: ChainContext, due: _Due, receipt: Receipt, at: int, now: datetime) -> None:
    """What reached the wallet in truth is noted as if nobody had reported it."""
    linked = {} if due.wallet is None else chain_repository.linked_wallets(session, [due.wallet])
    for wallet, link in linked.items():
        paid = [one for one in transfers_of(receipt, chain.usdc) if one.to == wallet != one.from_ and at >= link.since]
        payments = [Payment(link.account_id, one.from_, wallet, one.amount_e6, receipt.tx_hash, one.log_index) for one in paid]
        entries = [deposit_of(payment, receipt.block_number, receipt.block_hash, chain.chain_id) for payment in payments]
        transfer_reports.post_deposits(session, {link.account_id: entries}, now)


def _watched(report: TransferReport) -> Watched:
    return Watched(
        state=State(report.state),
        amount_e6=report.amount_e6,
        deadline=int(report.deadline_at.timestamp()),
        block_hash=None if report.block_hash is None else hex_of(report.block_hash),
    )


def _apply(session: WriteSession, report: TransferReport, step: Step, sighting: Sighting | None, now: datetime) -> None:
    match step.verdict:
        case Verdict.WAIT:
            transfer_reports.look_again(report, now)
        case Verdict.SEE | Verdict.UNSEE:
            transfer_reports.see(report, sighting, now)
        case Verdict.CLOSE:
            transfer_reports.close(report)
        case Verdict.CONFIRM:
            assert sighting is not None, "only what was seen is confirmed"
            transfer_reports.confirm(session, report, sighting, now)
        case Verdict.FAIL:
            assert step.failure is not None, "a failure has a reason"
            transfer_reports.fail(session, report, step.failure, sighting, now)
