"""The slow job `reserve`: the reserve token's record is held against its contract and against itself
(docs/reserve.md#reconciliation).

    the record at its cursor --the contract at that very block--> differences --there on a second look--> finding

Laws
- What differs once may be a node's lie or a block that is just being replaced: a finding is what
  differs at two looks, at the same block or another.
- The reading is kept for the ratio that `/reserve/state` shows.
- The contract is asked at each look. All rows are summed by the first look of an hour, and by each one
  until what differs is mended.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime
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
from core.reserve.reconciliation import OF_CONTRACT, conversion_sums, faults

NAME: Final = "reserve"
EVERY_S: Final = 60
LIMIT_S: Final = 300

log = structlog.get_logger("worker")


class RecordMovedError(OutsideError):
    """The record's newest block was replaced while the contract was asked."""


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """How many differences stand. Errors: JobSkippedError, the reader's, the database's."""
    token = place.reader.contracts.get("reserve_token")
    if token is None:
        raise JobSkippedError("no reserve token is deployed")
    found = _look(place, token, now)
    if found:
        parts = {one.place["part"] for one in found}
        found = [one for one in _look(place, token, now) if one.place["part"] in parts]
    new = _write(place, found, now)
    for one in new:
        log.error("the reserve token does not reconcile", what=one.what)
    says: dict[str, Any] = {"differences": len(found)}
    return says | ({ATTENTION: found[0].what} if found else {})


def _look(place: JobPlace, token: str, now: datetime) -> list[Fault]:
    with place.database.read() as session:
        chain_id = blocks.cursor_chain(session, TIP)
        record = queries.state(session)
        if chain_id is None or record is None:
            raise JobSkippedError("the indexer has not read the reserve token's events yet")
        before = queries.reading(session)
        is_due = before is None or not before.is_reconciled or _hour(before.read_at) != _hour(now)
        sums = conversion_sums(session, chain_id) if is_due else None
    contract = contract_numbers(place.reader, token, record.block_hash)
    with place.database.read() as session:
        if blocks.canonical_hash(session, chain_id, record.block) != record.block_hash:
            raise RecordMovedError(
                f"block {record.block} was replaced by a reorg; the next run checks again"
            )
    found = faults(chain_id, record, contract, sums)
    _keep(place, chain_id, record, contract, now, found)
    return found


def _hour(at: datetime) -> int:
    return int(at.timestamp()) // 3_600


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
