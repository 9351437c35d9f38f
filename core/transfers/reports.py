"""The life of a transfer report: each step changes the report's row and writes the transfer ledger,
in one call.

    step      the ledger
    report    reported: the report's place in the balances; what the chain showed of the transaction before is taken back
    confirm   confirmed: from there to idle (in) or delivered (out)
    fail      after confirmed: its reversal first; then failed: the report's place is given back
    restore   the reversal of failed, then restored: confirmed once more, as the next incarnation

Laws
- What a report is in the balances follows from its state alone (core.transfers.rules.standing);
  `verify` holds both against each other.
- Nothing here commits or judges: core.transfers.rules decides which step follows.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import bytes_of, hex_of
from core.transfers import queries as repository
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.ledger.verify import transfer_ledger_faults
from core.transfers.ledger.writer import NewTransfer
from core.transfers.rules import (
    RESTORED_WITHIN_S,
    UNSEEN_FAILS_AFTER_S,
    Direction,
    Failure,
    FourStates,
    Sighting,
    State,
    move,
    standing,
)
from core.transfers.tables import TransferReport

AGENT, CHAIN = "agent", "chain"
# a word alone: nothing that the chain ever bore out
GIVEN_UP = (Failure.NOT_SEEN.value, Failure.REVERTED.value)
LOOK_LEAST, LOOK_MOST, LOOK_SHARE = timedelta(seconds=1), timedelta(seconds=60), 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an agent says: `amount_e6` base units of `asset` moved in `direction` in that
    transaction.
    """

    chain_id: int
    asset: str
    direction: Direction
    amount_e6: int
    tx_hash: str


def report(
    session: WriteSession, account_id: int, claim: Claim, override_reason: str | None, now: datetime
) -> TransferReport | None:
    """Take a report and give it its place in the balances; None when another report has the
    transaction.
    """
    added = repository.add_report(
        session,
        claim.tx_hash,
        account_id=account_id,
        chain_id=claim.chain_id,
        asset=claim.asset,
        direction=claim.direction.value,
        amount_e6=claim.amount_e6,
        reported_by=AGENT,
        reported_at=now,
        override_reason=override_reason,
        state=State.REPORTED.value,
        deadline_at=now + timedelta(seconds=UNSEEN_FAILS_AFTER_S),
        next_look_at=now,
    )
    if added is not None:
        payload = {} if override_reason is None else {"override_reason": override_reason}
        if claim.direction is Direction.IN:
            transfer_ledger.reverse_deposits(
                session, account_id, claim.chain_id, claim.tx_hash, "reported", now
            )
        _post(
            session,
            added,
            "reported",
            standing(claim.direction, State.REPORTED, claim.amount_e6),
            now,
            payload,
        )
    return added


def make_room(session: WriteSession, account_id: int, limit: int) -> datetime | None:
    """Whether the account may have one more open report, of `limit` at most; None: it may.

    Else when the first one ends at the latest.

    Reports that failed unseen or reverted wait beside the open ones to come back; where both
    together are too many, the oldest of those are closed. The caller holds the account's ledger, so
    that no other report of it is taken meanwhile.
    """
    deadlines = repository.open_deadlines(session, account_id)
    if len(deadlines) >= limit:
        return deadlines[0]
    waiting = repository.lock_waiting_reports(session, account_id, GIVEN_UP)
    for one in waiting[: max(0, len(deadlines) + len(waiting) + 1 - limit)]:
        close(one)
    return None


def post_deposits(
    session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]], now: datetime
) -> int:
    """Post deposits that the chain showed by itself, except those that their account reported;
    how many.

    The ledgers are locked first, as `report`'s caller does: of a report and a block at the same
    time one sees the other.
    """
    transfer_ledger.lock_ledgers(session, sorted(ledgers), now)
    return transfer_ledger.post_ledgers(session, unreported(session, ledgers), now)


def unreported(
    session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]]
) -> Mapping[int, Sequence[NewTransfer]]:
    """The deposits that their own account has not reported."""
    places = {(one.chain_id, one.tx_hash) for transfers in ledgers.values() for one in transfers}
    reported = set[tuple[int, str]]()
    for chain_id in {chain_id for chain_id, _ in places}:
        reported |= repository.tellers_of(
            session,
            chain_id,
            [tx_hash for place, tx_hash in places if place == chain_id and tx_hash],
        )
    return {
        account_id: [one for one in transfers if (account_id, one.tx_hash) not in reported]
        if reported
        else transfers
        for account_id, transfers in ledgers.items()
    }


def look_again(report: TransferReport, now: datetime) -> None:
    """Later and later: a tenth of the report's age, from one second to one minute."""
    report.next_look_at = now + min(
        max((now - report.reported_at) / LOOK_SHARE, LOOK_LEAST), LOOK_MOST
    )


def see(report: TransferReport, sighting: Sighting | None, now: datetime) -> None:
    """The transaction is in a block that is not safe yet, or no longer does.

    The ledger says nothing of it.
    """
    report.state = State.REPORTED.value if sighting is None else State.SEEN.value
    _place(report, sighting)
    look_again(report, now)


def confirm(
    session: WriteSession, report: TransferReport, sighting: Sighting, now: datetime
) -> None:
    """The chain bears the report out; after a failure the failure is reversed first and the report
    restored.
    """
    was_failed = report.state == State.FAILED
    if was_failed:
        transfer_ledger.reverse(
            session, {report.account_id: [_key(report, State.FAILED)]}, "restored", now
        )
    report.state, report.failure = State.CONFIRMED.value, None
    report.confirmed_at, report.next_look_at = now, None
    _place(report, sighting)
    deltas = move(Direction(report.direction), report.amount_e6, State.REPORTED, State.CONFIRMED)
    seen = {
        "block_hash": sighting.block_hash,
        "block_number": sighting.block_number,
        "log_index": sighting.log_index,
    }
    if report.direction == Direction.IN and sighting.funder is not None:
        seen["from"] = sighting.funder
    _post(session, report, "restored" if was_failed else "confirmed", deltas, now, seen)


def fail(
    session: WriteSession,
    report: TransferReport,
    failure: Failure,
    sighting: Sighting | None,
    now: datetime,
) -> None:
    """The report's place in the balances is given back.

    It may come back within a day, unless the chain contradicts it.
    """
    _fail_all(session, [report], failure, sighting, now)


def _fail_all(
    session: WriteSession,
    reports: Sequence[TransferReport],
    failure: Failure,
    sighting: Sighting | None,
    now: datetime,
) -> None:
    confirmed, entries = dict[int, list[str]](), dict[int, list[NewTransfer]]()
    for report in reports:
        if report.state == State.CONFIRMED:
            confirmed.setdefault(report.account_id, []).append(_key(report, State.CONFIRMED))
    transfer_ledger.reverse(session, confirmed, failure.value, now)
    for report in reports:
        report.state, report.failure, report.confirmed_at = State.FAILED.value, failure.value, None
        report.deadline_at = now + timedelta(seconds=RESTORED_WITHIN_S)
        report.next_look_at = None if failure is Failure.CONTRADICTED else now
        _place(report, sighting)
        deltas = move(Direction(report.direction), report.amount_e6, State.REPORTED, State.FAILED)
        entries.setdefault(report.account_id, []).append(
            _entry(report, "failed", deltas, {"failure": failure.value})
        )
    transfer_ledger.post_ledgers(session, entries, now)


def close(report: TransferReport) -> None:
    """Nobody looks at it any more: it failed, and its day has passed."""
    report.next_look_at = None


def replace_blocks(
    session: WriteSession, chain_id: int, block_hashes: Collection[str], now: datetime
) -> int:
    """Take back what those orphaned blocks said: confirmed reports fail, seen ones are reported
    again. How many moved.
    """
    reports = repository.lock_reports_in_blocks(session, chain_id, block_hashes)
    confirmed = [one for one in reports if one.state == State.CONFIRMED]
    for one in reports:
        if one.state != State.CONFIRMED:
            see(one, None, now)
            one.next_look_at = now
    if confirmed:
        _fail_all(session, confirmed, Failure.BLOCK_REPLACED, None, now)
    session.flush()
    return len(reports)


def verify(session: Session, account_id: int) -> list[str]:
    """What is wrong with an account's transfer ledger, or with a report that the ledger does not
    bear out; empty means sound.
    """
    faults = transfer_ledger_faults(session, account_id)
    for one in repository.reports_of(session, account_id):
        facts = [_key(one, state) for state in (State.REPORTED, State.CONFIRMED, State.FAILED)]
        if transfer_ledger.load_sum(session, account_id, facts) != standing(
            Direction(one.direction), State(one.state), one.amount_e6
        ):
            faults.append(
                f"report {hex_of(one.tx_hash)}: the ledger does not say that it is {one.state}"
            )
    return faults


def _place(report: TransferReport, sighting: Sighting | None) -> None:
    report.block_hash = None if sighting is None else bytes_of(sighting.block_hash)
    report.block_number = None if sighting is None else sighting.block_number
    report.log_index = None if sighting is None else sighting.log_index


def _key(report: TransferReport, state: State) -> str:
    """The base key of a fact of the report.

    Restored is confirmed once more: the same fact, its next incarnation.
    """
    return f"transfer:{report.id}:{state.value}"


def _post(
    session: WriteSession,
    report: TransferReport,
    kind: str,
    deltas: FourStates,
    now: datetime,
    payload: dict[str, Any],
) -> None:
    transfer_ledger.post(
        session, report.account_id, _entry(report, kind, deltas, payload), now.astimezone(UTC)
    )


def _entry(
    report: TransferReport, kind: str, deltas: FourStates, payload: dict[str, Any]
) -> NewTransfer:
    return NewTransfer(
        kind=kind,
        base_key=_key(report, State.CONFIRMED if kind == "restored" else State(kind)),
        chain_id=report.chain_id,
        asset=report.asset,
        deltas=deltas,
        reported_by=AGENT if kind == "reported" else CHAIN,
        tx_hash=hex_of(report.tx_hash),
        payload={"direction": report.direction, **payload},
    )
