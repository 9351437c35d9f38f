"""Where the ledgers' rows of a block go, with what their owners are told of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from core.alerts import queries as alerts
from core.blocks import queries as repository
from core.chain.blocks import BlockHeader
from core.db.engine import WriteSession
from core.hexes import bytes_of
from core.keeper.intents import forget_ended
from core.keeper.views import vaults_of
from core.ledger.chain import known_keys
from core.mandate import owed_notes
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.queries import owners_of, public_ids_of
from core.mandate.rules.ledger import NewRow
from core.mandate.rules.unvalued import WentOut
from core.mandate.tables import MandateEvent
from core.money import usdc_text
from core.quarantine import queries as quarantine
from core.quarantine.queries import MANDATE, NewHeld
from core.reserve import events as reserve_events
from core.transfers import reports as transfer_reports
from core.transfers.ledger.writer import NewTransfer
from core.transfers.tables import TransferEntry

NEW_ROW: TypeAdapter[NewRow] = TypeAdapter(NewRow)
NEW_TRANSFER: TypeAdapter[NewTransfer] = TypeAdapter(NewTransfer)


@dataclass(frozen=True, slots=True)
class Note:
    """A factory event as a row of every ledger that it concerns.

    `is_alert`: their owners are told of it as well.
    """

    row: NewRow
    is_alert: bool


class Ledgers:
    """Owners' alerts of a ledger's rows are `append`'s; those of the factory's events go with their
    notes.
    """

    def append(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]], now: datetime
    ) -> int:
        grown = mandate_ledger.append_ledgers(session, ledgers, now)
        self._watch_again(session, ledgers)
        public_ids = public_ids_of(session, {went.row.mandate_id for went in grown.went_out})
        for went in grown.went_out:
            public_id = public_ids[went.row.mandate_id]
            # an agent could fill the list otherwise
            if not alerts.money_at_cost_stands(session, public_id, went.row.occurred_at):
                owners = owners_of(session, [went.row.mandate_id])
                alerts.add(
                    session,
                    alerts.MONEY_AT_COST,
                    owners,
                    went.row,
                    _money_at_cost(went, public_id),
                    now,
                )
        return grown.rows

    def _watch_again(self, session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]]) -> None:
        """What came home by an unwind or an adapter, perhaps after an end: the keeper marks it."""
        returned = {
            one: row.chain_id
            for one, rows in ledgers.items()
            for row in rows
            if row.chain_id is not None and ("unwound" in row.payload or "proceeds" in row.payload)
        }
        for chain_id in set(returned.values()):
            mandates = [one for one, at in returned.items() if at == chain_id]
            forget_ended(session, chain_id, vaults_of(session, chain_id, mandates))

    def note(
        self,
        session: WriteSession,
        chain_id: int,
        block: BlockHeader,
        notes: Sequence[Note],
        mandate_ids: Sequence[int],
        now: datetime,
    ) -> int:
        """Written down as owed: thousands of ledgers are written in slices, while the chain goes on
        (factory_notes.write_slice).
        """
        written = [
            {"row": NEW_ROW.dump_python(note.row, mode="json"), "is_alert": note.is_alert}
            for note in notes
        ]
        owed_notes.owe(session, chain_id, (block.number, block.hash), written, mandate_ids, now)
        return 0

    def post_deposits(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]], now: datetime
    ) -> int:
        return transfer_reports.post_deposits(session, ledgers, now)

    def adopt_conversions(
        self, session: WriteSession, chain_id: int, first: int, last: int, now: datetime
    ) -> None:
        reserve_events.adopt_conversions(session, chain_id, first, last, now)

    def held(self, session: WriteSession, kind: str, ledgers: Collection[int]) -> set[int]:
        return quarantine.held_among(session, kind, ledgers)

    def hold(
        self,
        session: WriteSession,
        chain_id: int,
        kind: str,
        ledger: int,
        facts: Sequence[NewHeld],
        now: datetime,
    ) -> int:
        """The owner is told of the first fact, not of those that wait behind it.

        What would wait and stands in the ledger already, as when a new machine reads the chain
        again, is left out.
        """
        standing = self._standing(
            session, kind, ledger, [fact.base_key for fact in facts if not fact.tries]
        )
        lacking = [fact for fact in facts if fact.base_key not in standing]
        if lacking:
            quarantine.hold(session, chain_id, kind, ledger, lacking, now)
        if kind == MANDATE and facts[0].tries:
            _alert_held(session, chain_id, ledger, facts[0], now)
        return len(lacking)

    def _standing(
        self, session: WriteSession, kind: str, ledger: int, keys: Sequence[str]
    ) -> set[str]:
        known = (
            known_keys(session, MandateEvent, MandateEvent.mandate_id, {ledger: keys})
            if kind == MANDATE
            else known_keys(session, TransferEntry, TransferEntry.account_id, {ledger: keys})
        )
        return known[ledger].standing


def note_from_json(raw: Mapping[str, Any]) -> Note:
    """A note as it was written down as owed."""
    return Note(NEW_ROW.validate_python(raw["row"]), raw["is_alert"])


def _money_at_cost(went: WentOut, public_id: str) -> dict[str, Any]:
    """What the owner is told of the vault's Executed by which money went out where no adapter
    values it.
    """
    executed = went.row.payload["executed"]
    args = {
        "target": executed["target"],
        "selector": executed["selector"],
        "at_cost_usdc": usdc_text(went.out_usdc_e6),
    }
    return {"event": "Executed", "args": args, "mandate_id": public_id}


def _alert_held(
    session: WriteSession, chain_id: int, mandate_id: int, first: NewHeld, now: datetime
) -> None:
    block = {
        "chain_id": chain_id,
        "tx_hash": bytes_of(first.tx_hash),
        "log_index": first.log_index,
        "block_number": first.block_number,
        "block_hash": bytes_of(first.block_hash),
    }
    args = {"from_block": str(first.block_number), "reason": first.reason, "note": first.note}
    payload = {
        "event": "RecordHeld",
        "args": args,
        "mandate_id": public_ids_of(session, {mandate_id})[mandate_id],
    }
    at = repository.block_time(session, chain_id, first.block_hash)
    alerts.add_record_held(
        session, owners_of(session, [mandate_id]), block, payload, _instant(at, now), now
    )


def _instant(at: int | None, now: datetime) -> datetime:
    """A block's time; `now` for one that no calendar has, which may be why the fact is held."""
    try:
        return now if at is None else datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        return now
