"""The slow job `reserve`: the reserve token's record is held against its contract and against itself
(docs/reserve.md#reconciliation).

    the record at its cursor --the contract at that very block--> differences --there on a second look--> finding

Laws
- What differs once may be a node's lie or a block that is just being replaced: a finding is what
  differs at two looks, at the same block or another.
- Each look costs what was touched since the last one, ACCOUNTS_A_LOOK accounts in turns: one that differs
  stays touched and keeps none from being compared. Once a day all rows are read, and the running totals
  are held against them.
- The reading is kept for the ratio that `/reserve/state` shows.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import structlog

from api.kernel.jobs import AreaJob, JobPlace
from core.audit import queries as audit
from core.audit.rules import Fault, FindingKind
from core.blocks import queries as blocks
from core.blocks.queries import TIP
from core.errors import OutsideError
from core.jobs.rules import ATTENTION
from core.jobs.schedule import JobSkippedError
from core.reserve import queries
from core.reserve.chain import ContractNumbers, contract_numbers
from core.reserve.queries import ReserveState
from core.reserve.reconciliation import (
    OF_CONTRACT,
    RunningPart,
    Total,
    Touched,
    conversion_sums,
    correct_totals,
    faults,
    fold_totals,
    forget,
    running_totals,
    totals_of_rows,
    touched,
)

NAME: Final = "reserve"
EVERY_S: Final = 60
LIMIT_S: Final = 300
LOOKS: Final = 2
FULL_EVERY: Final = timedelta(days=1)
ACCOUNTS_A_LOOK: Final = 500
MOVES_A_LOOK: Final = 50_000  # of running totals that are put together

log = structlog.get_logger("worker")


class RecordMovedError(OutsideError):
    """The record's newest block was replaced while the contract was asked."""


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many differences stand. Errors: JobSkippedError, the reader's, the database's."""
    token = place.reader.contracts.get("reserve_token")
    if token is None:
        raise JobSkippedError("no reserve token is deployed")
    look = _look(place, token, now)
    found = look.faults
    for _ in range(LOOKS - 1):
        if not found:
            break
        keys = {one.place["part"] for one in found}
        look = _look(place, token, now)
        found = [one for one in look.faults if one.place["part"] in keys]
    new = _write(place, found, now)
    _end(place, look, now, are_totals_wrong=any(one.place["part"] == "totals" for one in found))
    for one in new:
        log.error("the reserve token does not reconcile", what=one.what)
    says: dict[str, Any] = {"differences": len(found)}
    return says | ({ATTENTION: found[0].what} if found else {})


@dataclass(frozen=True, slots=True)
class _Compared:
    """`faults` there are; `right` None: the rows were not all read. `odd`: accounts that differ."""

    chain_id: int
    block: int
    faults: list[Fault]
    odd: frozenset[int]
    compared: Touched
    running: Mapping[RunningPart, Total]
    right: Mapping[RunningPart, Total] | None


def _look(place: JobPlace, token: str, now: datetime) -> _Compared:
    with place.database.read() as session:
        chain_id = blocks.cursor_chain(session, TIP)
        record = queries.state(session)
        if chain_id is None or record is None:
            raise JobSkippedError("the indexer has not read the reserve token's events yet")
        last = queries.reading(session)
        is_full = last is None or last.audited_at is None or now - last.audited_at >= FULL_EVERY
        above = -1 if is_full or last is None else last.audited_number or -1
        after = None if last is None else last.compared_account_id
        compared = touched(session, after, ACCOUNTS_A_LOOK)
        running = running_totals(session, chain_id)
        right = totals_of_rows(session, chain_id) if is_full else None
        sums = conversion_sums(
            session,
            chain_id,
            right or running,
            above=above,
            accounts=None if is_full else list(compared.touches),
        )
    if right is not None:
        odd = sum(right[part] != running[part] for part in RunningPart)
        sums = replace(sums, odd_totals=odd)
    contract = contract_numbers(place.reader, token, record.block_hash)
    with place.database.read() as session:
        if blocks.canonical_hash(session, chain_id, record.block) != record.block_hash:
            raise RecordMovedError(f"block {record.block} was replaced; the next run asks again")
    found = faults(chain_id, record, contract, sums)
    _keep(place, chain_id, record, contract, now, found)
    odd_accounts = frozenset((*sums.odd_sums, *sums.odd_ledgers))
    return _Compared(chain_id, record.block, found, odd_accounts, compared, running, right)


def _end(place: JobPlace, look: _Compared, now: datetime, *, are_totals_wrong: bool) -> None:
    """What was compared need not be again, unless it differs; wrong totals are corrected."""
    with place.database.write() as session:
        forget(session, look.compared, look.odd)
        fold_totals(session, MOVES_A_LOOK)
        done: dict[str, Any] = {"compared_account_id": look.compared.last}
        if look.right is not None:
            done |= {"audited_number": look.block, "audited_at": now}
            if are_totals_wrong:
                correct_totals(session, look.chain_id, look.running, look.right)
        queries.note_reading(session, look.chain_id, done)


def _keep(
    place: JobPlace,
    chain_id: int,
    record: ReserveState,
    contract: ContractNumbers,
    now: datetime,
    found: Collection[Fault],
) -> None:
    """Where the numbers are the same, this is the block from which a later lie is looked for
    (indexer.chain.reserve).
    """
    is_right = not {one.place["part"] for one in found} & OF_CONTRACT
    with place.database.write() as session:
        queries.save_reading(
            session,
            {
                "chain_id": chain_id,
                "number": record.block,
                "block_hash": record.block_hash,
                "at": record.at,
                **asdict(contract),
                "is_reconciled": not found,
                "read_at": now,
            }
            | ({"right_number": record.block} if is_right else {}),
        )


def _write(place: JobPlace, found: list[Fault], now: datetime) -> list[Fault]:
    """Those that were not written before. A part that has an open finding gets no second one."""
    if not found:
        return []
    with place.database.write() as session:
        chain_id = blocks.cursor_chain(session, TIP)
        assert chain_id is not None, "the record was read just now"
        standing = {
            one.place.get("part")
            for one in audit.open_findings(session, chain_id)
            if one.kind == FindingKind.RESERVE
        }
        return [
            one
            for one in found
            if one.place["part"] not in standing
            and audit.add_finding(session, chain_id, one, now) is not None
        ]


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, run),)
