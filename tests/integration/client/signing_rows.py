"""Rows that the agent signs, as its client does, written into a ledger without the API."""

from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from api.client.signing import sign_typed_data
from core.mandate import rows as mandate_rows
from core.mandate.chain.typed_data import record_row
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import event_row
from core.mandate.rules.record import next_signature
from core.mandate.rules.rows import NewRow, ReportedBy, RowAuthor
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import AGENT, Persona


def signed_by(
    persona: Persona, row: NewRow, public_id: str, factory: str, sequence: int, prev: str
) -> RowAuthor:
    place = RowAuthor(signer=persona.address, sequence=sequence, prev=prev, signature="0x")
    document = record_row(public_id, row, place, factory, CHAIN_ID).typed_data
    return replace(place, signature=sign_typed_data(persona.private_key, document))


def report_unsigned(follower: Follower, mandate: Issued, why: str) -> None:
    with follower.database.write() as session:
        mandate_ledger.append(session, mandate.id, _note(why), now_utc())


def report_signed(
    follower: Follower,
    mandate: Issued,
    why: str,
    persona: Persona = AGENT,
    at: datetime | None = None,
) -> None:
    """A note of the agent, signed as the next of its rows; `at`: when it is written."""
    row, factory = _note(why), follower.deployed.contracts["factory"]
    with follower.database.write() as session:
        newest = mandate_rows.newest_signed_row(session, mandate.id, ReportedBy.AGENT)
        place = next_signature(newest)
        author = signed_by(persona, row, mandate.public_id, factory, place.sequence, place.prev)
        mandate_ledger.append(session, mandate.id, replace(row, author=author), at or now_utc())


def _note(why: str) -> NewRow:
    return event_row(
        kind="note",
        amount_usdc_e6=None,
        tx_hash=None,
        why=why,
        payload={},
        violation=None,
        fact=uuid4().hex,
        now=now_utc(),
        chain_id=CHAIN_ID,
    )
