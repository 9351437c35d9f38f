"""Where the ledgers' rows of a block go: into the ledgers, or, in a rescan beside the record, to
the list of what they lack.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

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
from core.quarantine.queries import ACCOUNT, MANDATE, NewHeld
from core.reserve import events as reserve_events
from core.shadow import queries as shadow
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


class Ledgers(Protocol):
    """Owners' alerts of a ledger's rows are `append`'s; those of the factory's events go with their
    notes.
    """

    def append(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]], now: datetime
    ) -> int:
        """Rows of mandates' ledgers, by mandate id; the number of rows that were new."""

    def note(
        self,
        session: WriteSession,
        chain_id: int,
        block: BlockHeader,
        notes: Sequence[Note],
        mandate_ids: Sequence[int],
        now: datetime,
    ) -> int:
        """A block's factory notes for these mandates; the number of rows that were written at
        once.
        """

    def post_deposits(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]], now: datetime
    ) -> int:
        """Deposits that nobody reported, by account id; the number of rows that were new."""

    def adopt_conversions(
        self, session: WriteSession, chain_id: int, first: int, last: int, now: datetime
    ) -> None:
        """Conversions of the reserve token in the blocks first to last are to be credited."""

    def held(self, session: WriteSession, kind: str, ledgers: Collection[int]) -> set[int]:
        """Which of these ledgers lack a fact that was refused, so that nothing may follow it."""

    def hold(
        self,
        session: WriteSession,
        chain_id: int,
        kind: str,
        ledger: int,
        facts: Sequence[NewHeld],
        now: datetime,
    ) -> int:
        """Hold these facts back from a ledger (quarantine.py); how many it lacks."""


class LiveBooks:
    """The ledgers themselves."""

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


class MissingRows:
    """Writes no ledger: notes in the shadow which rows the ledgers lack.

    `session` must see the shadow first, then the record.

    What the record holds back is known already, and no rescan could append it.
    """

    def append(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]], now: datetime
    ) -> int:
        keys = {mandate_id: [row.base_key for row in rows] for mandate_id, rows in ledgers.items()}
        known = known_keys(session, MandateEvent, MandateEvent.mandate_id, keys)
        return self._note(
            session,
            MANDATE,
            ledgers,
            {ledger: facts.standing for ledger, facts in known.items()},
            NEW_ROW,
        )

    def note(
        self,
        session: WriteSession,
        chain_id: int,
        block: BlockHeader,
        notes: Sequence[Note],
        mandate_ids: Sequence[int],
        now: datetime,
    ) -> int:
        return self.append(
            session, {mandate_id: [note.row for note in notes] for mandate_id in mandate_ids}, now
        )

    def post_deposits(
        self, session: WriteSession, ledgers: Mapping[int, Sequence[NewTransfer]], now: datetime
    ) -> int:
        untold = transfer_reports.untold(session, ledgers)
        keys = {account_id: [row.base_key for row in rows] for account_id, rows in untold.items()}
        known = known_keys(session, TransferEntry, TransferEntry.account_id, keys)
        return self._note(
            session,
            ACCOUNT,
            untold,
            {ledger: facts.standing for ledger, facts in known.items()},
            NEW_TRANSFER,
        )

    def adopt_conversions(
        self, session: WriteSession, chain_id: int, first: int, last: int, now: datetime
    ) -> None:
        """Nothing: they follow from the events, which are compared as rows of blocks are."""

    def held(self, session: WriteSession, kind: str, ledgers: Collection[int]) -> set[int]:
        return set()

    def hold(
        self,
        session: WriteSession,
        chain_id: int,
        kind: str,
        ledger: int,
        facts: Sequence[NewHeld],
        now: datetime,
    ) -> int:
        """Nothing: the record's own scan held it, or will."""
        return 0

    def _note(
        self,
        session: WriteSession,
        kind: str,
        ledgers: Mapping[int, Sequence[Any]],
        standing: Mapping[int, set[str]],
        form: TypeAdapter[Any],
    ) -> int:
        held = quarantine.held_keys(session, kind, ledgers)
        known = {ledger: keys | held.get(ledger, set()) for ledger, keys in standing.items()}
        lacking = [
            (ledger, row)
            for ledger, rows in ledgers.items()
            for row in rows
            if row.base_key not in known[ledger]
        ]
        shadow.add_missing(
            session,
            [
                (kind, ledger, row.base_key, form.dump_python(row, mode="json"))
                for ledger, row in lacking
            ],
        )
        return len(lacking)


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


def write_missing(session: WriteSession, now: datetime) -> int:
    """Append to the ledgers what the shadow says that they lack, each ledger's rows in the order of
    the chain; how many were new.
    """
    mandates: dict[int, list[NewRow]] = {}
    accounts: dict[int, list[NewTransfer]] = {}
    for missing in shadow.missing_rows(session):
        if missing.kind == MANDATE:
            mandates.setdefault(missing.ledger_id, []).append(NEW_ROW.validate_python(missing.row))
        else:
            accounts.setdefault(missing.ledger_id, []).append(
                NEW_TRANSFER.validate_python(missing.row)
            )
    ledgers = LiveBooks()
    rows = ledgers.append(session, mandates, now) if mandates else 0
    return rows + (ledgers.post_deposits(session, accounts, now) if accounts else 0)
