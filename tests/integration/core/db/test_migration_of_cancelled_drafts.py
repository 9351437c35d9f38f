"""Drafts that were cancelled before that was a row of their ledgers."""

from datetime import timedelta
from importlib import import_module

import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.mandate.ledger import refold
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.paper import cancelled_note
from core.mandate.tables import Mandate, MandateEvent, MandateHead
from tests.integration.core.rows import NOW, add_mandate, note

MIGRATION = import_module("core.db.migrations.versions.0016_cancelled_drafts")
ENDED_AT = NOW + timedelta(days=1)


def migrate(session: Session) -> None:
    session.flush()
    context = MigrationContext.configure(session.connection())
    with Operations.context(context):
        MIGRATION.upgrade()
    session.expire_all()


@pytest.fixture
def dropped(write: WriteSession) -> int:
    """A mandate as an older service left a draft that its owner cancelled."""
    mandate_id = add_mandate(write)
    mandate = write.get_one(Mandate, mandate_id)
    mandate.status, mandate.ended_at = "cancelled", ENDED_AT
    return mandate_id


def rows(session: Session) -> int:
    return session.scalars(select(func.count()).select_from(MandateEvent)).one()


def test_a_cancelled_draft__gets_the_row_that_a_cancellation_writes_today(
    write: WriteSession, dropped: int
) -> None:
    migrate(write)
    (row,) = mandate_ledger.load_rows(write, dropped)
    wanted = cancelled_note(ENDED_AT)
    assert {name: getattr(row, name) for name in wanted.__dataclass_fields__} == {
        name: getattr(wanted, name) for name in wanted.__dataclass_fields__
    }


def test_a_cancelled_drafts_ledger__is_sound_and_says_so(write: WriteSession, dropped: int) -> None:
    migrate(write)
    assert mandate_ledger.verify(write, dropped) == []
    state = mandate_ledger.load_head(write, dropped)
    assert (state.status, state.ended_at) == (Status.CANCELLED, ENDED_AT)


def test_a_cancelled_draft__has_ended_in_its_week_and_not_before(
    write: WriteSession, dropped: int
) -> None:
    migrate(write)
    monday = NOW.replace(hour=0)
    before, after = (
        mandate_ledger.load_before(write, [dropped], at)[dropped].status
        for at in (monday, monday + timedelta(days=7))
    )
    assert (before, after) == (Status.DRAFT, Status.CANCELLED)


def test_a_cancelled_draft__goes_on_from_its_row(write: WriteSession, dropped: int) -> None:
    migrate(write)
    mandate_ledger.append(write, dropped, note(1), NOW)
    assert mandate_ledger.verify(write, dropped) == []
    assert write.get_one(Mandate, dropped).status == "cancelled"


def test_a_cancelled_draft_with_rows__gets_its_row_after_them(write: WriteSession) -> None:
    mandate_id = add_mandate(write)
    mandate_ledger.append(write, mandate_id, note(1), NOW)
    mandate = write.get_one(Mandate, mandate_id)
    mandate.status, mandate.ended_at = "cancelled", ENDED_AT
    migrate(write)
    assert [row.base_key for row in mandate_ledger.load_rows(write, mandate_id)][1:] == [
        "cancelled"
    ]
    assert mandate_ledger.verify(write, mandate_id) == []


def test_what_was_migrated__is_folded_again_at_the_next_start(
    write: WriteSession, dropped: int
) -> None:
    migrate(write)
    assert refold.older_ledgers(write) == [dropped]
    refold.refold(write, dropped)
    assert write.get_one(MandateHead, dropped).status == "cancelled"
    assert refold.older_ledgers(write) == []


def test_the_migration__leaves_every_other_mandate_alone(write: WriteSession, dropped: int) -> None:
    add_mandate(write, public_id="m_bbbbbbbbbb")
    noted = add_mandate(write, public_id="m_cccccccccc")
    mandate_ledger.append(write, noted, cancelled_note(NOW), NOW)
    before = rows(write)
    migrate(write)
    migrate(write)
    assert rows(write) == before + 1
