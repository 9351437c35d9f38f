"""Where the books' rows of a block go: into the books, or, in a rescan beside the record, to the list of what they lack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from pydantic import TypeAdapter

from core.books import mandate_ledger, transfer_reports
from core.books.chain import known_keys
from core.books.transfer_ledger import NewTransfer
from core.db.engine import WriteSession
from core.db.repositories import alerts, owed_notes, shadow
from core.db.tables.mandate import MandateEvent
from core.db.tables.transfers import TransferEntry
from core.domain.blocks import BlockHeader
from core.domain.mandate.ledger import NewRow
from core.domain.mandate.unvalued import WentOut
from core.domain.money import usdc_text

MANDATE, ACCOUNT = "mandate", "account"  # kinds of books in the list
_NEW_ROW: TypeAdapter[NewRow] = TypeAdapter(NewRow)
_NEW_TRANSFER: TypeAdapter[NewTransfer] = TypeAdapter(NewTransfer)


@dataclass(frozen=True, slots=True)
class Note:
    """A factory event as a row of every book that it concerns. `is_alert`: their owners are told of it as well."""

    row: NewRow
    is_alert: bool


class Books(Protocol):
    """Owners' alerts of a ledger's rows are `append`'s; those of the factory's events go with their notes."""

    def append(self, session: WriteSession, books: Mapping[int, Sequence[NewRow]], now: datetime) -> int:
        """Rows of mandates' books, by mandate id; the number of rows that were new."""

    def note(
        self, session: WriteSession, chain_id: int, block: BlockHeader, notes: Sequence[Note], mandate_ids: Sequence[int], now: datetime
    ) -> int:
        """A block's factory notes for these mandates; the number of rows that were written at once."""

    def post_deposits(self, session: WriteSession, books: Mapping[int, Sequence[NewTransfer]], now: datetime) -> int:
        """Deposits that nobody reported, by account id; the number of rows that were new."""


class LiveBooks:
    """The books themselves."""

    def append(self, session: WriteSession, books: Mapping[int, Sequence[NewRow]], now: datetime) -> int:
        grown = mandate_ledger.append_books(session, books, now)
        public_ids = alerts.public_ids_of(session, {went.row.mandate_id for went in grown.went_out})
        for went in grown.went_out:
            public_id = public_ids[went.row.mandate_id]
            if not alerts.public_stop_off_stands(session, public_id, went.row.occurred_at):  # an agent could fill the list otherwise
                owners = alerts.owners_of(session, [went.row.mandate_id])
                alerts.add(session, alerts.PUBLIC_STOP_OFF, owners, went.row, _public_stop_off(went, public_id), now)
        return grown.rows

    def note(
        self, session: WriteSession, chain_id: int, block: BlockHeader, notes: Sequence[Note], mandate_ids: Sequence[int], now: datetime
    ) -> int:
        """Written down as owed: thousands of books are written in slices, while the chain goes on (factory_notes.write_slice)."""
        written = [{"row": _NEW_ROW.dump_python(note.row, mode="json"), "is_alert": note.is_alert} for note in notes]
        owed_notes.owe(session, chain_id, (block.number, block.hash), written, mandate_ids, now)
        return 0

    def post_deposits(self, session: WriteSession, books: Mapping[int, Sequence[NewTransfer]], now: datetime) -> int:
        return transfer_reports.post_deposits(session, books, now)


class MissingRows:
    """Writes no book: notes in the shadow which rows the books lack. `session` must see the shadow first, then the record."""

    def append(self, session: WriteSession, books: Mapping[int, Sequence[NewRow]], now: datetime) -> int:
        keys = {mandate_id: [row.base_key for row in rows] for mandate_id, rows in books.items()}
        known = known_keys(session, MandateEvent, MandateEvent.mandate_id, keys)
        return self._note(session, MANDATE, books, {book: facts.standing for book, facts in known.items()}, _NEW_ROW)

    def note(
        self, session: WriteSession, chain_id: int, block: BlockHeader, notes: Sequence[Note], mandate_ids: Sequence[int], now: datetime
    ) -> int:
        return self.append(session, {mandate_id: [note.row for note in notes] for mandate_id in mandate_ids}, now)

    def post_deposits(self, session: WriteSession, books: Mapping[int, Sequence[NewTransfer]], now: datetime) -> int:
        untold = transfer_reports.untold(session, books)
        keys = {account_id: [row.base_key for row in rows] for account_id, rows in untold.items()}
        known = known_keys(session, TransferEntry, TransferEntry.account_id, keys)
        return self._note(session, ACCOUNT, untold, {book: facts.standing for book, facts in known.items()}, _NEW_TRANSFER)

    def _note(
        self, session: WriteSession, kind: str, books: Mapping[int, Sequence[Any]], standing: Mapping[int, set[str]], form: TypeAdapter[Any]
    ) -> int:
        lacking = [(book, row) for book, rows in books.items() for row in rows if row.base_key not in standing[book]]
        shadow.add_missing(session, [(kind, book, row.base_key, form.dump_python(row, mode="json")) for book, row in lacking])
        return len(lacking)


def note_from_json(raw: Mapping[str, Any]) -> Note:
    """A note as it was written down as owed."""
    return Note(_NEW_ROW.validate_python(raw["row"]), raw["is_alert"])


def _public_stop_off(went: WentOut, public_id: str) -> dict[str, Any]:
    """What the owner is told of the vault's Executed by which money went out where no adapter values it."""
    executed = went.row.payload["executed"]
    args = {"target": executed["target"], "selector": executed["selector"], "at_cost_usdc": usdc_text(went.out_usdc_e6)}
    return {"event": "Executed", "args": args, "mandate_id": public_id}


def write_missing(session: WriteSession, now: datetime) -> int:
    """Append to the books what the shadow says that they lack, each book's rows in the order of the chain; how many were new."""
    mandates: dict[int, list[NewRow]] = {}
    accounts: dict[int, list[NewTransfer]] = {}
    for missing in shadow.missing_rows(session):
        if missing.kind == MANDATE:
            mandates.setdefault(missing.book_id, []).append(_NEW_ROW.validate_python(missing.row))
        else:
            accounts.setdefault(missing.book_id, []).append(_NEW_TRANSFER.validate_python(missing.row))
    books = LiveBooks()
    rows = books.append(session, mandates, now) if mandates else 0
    return rows + (books.post_deposits(session, accounts, now) if accounts else 0)
