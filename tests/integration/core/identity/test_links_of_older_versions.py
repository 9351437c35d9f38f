"""Links and tokens that were made before links waited and tokens ended."""

from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from sqlalchemy import text

from core.db.engine import Database
from core.identity import calls
from core.identity import queries as identity

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MIGRATION = import_module("core.db.migrations.versions.0012_evictions")
WALLET = "0x" + "ab" * 20


@pytest.mark.parametrize(("is_owned", "hours"), [(False, 0), (True, 24)])
def test_an_older_link__is_paid_as_if_it_had_waited(
    database: Database, is_owned: bool, hours: int
) -> None:
    with database.write() as session:
        owner = identity.owner_of_wallet(session, "0x" + "cd" * 20, "203.0.113.9", NOW)
        assert owner is not None
        agent = identity.add_agent(
            session, "quant", owner.id if is_owned else None, "203.0.113.9", b"r" * 32, NOW
        )
        identity.link_wallet(session, agent.id, WALLET, NOW)
        session.execute(
            text("update account set wallet_payable_at = null, wallet_generation = null")
        )
        session.execute(text(MIGRATION.LINKED))
        session.refresh(agent)
        assert (agent.wallet_payable_at, agent.wallet_generation) == (
            NOW + timedelta(hours=hours),
            0,
        )
        session.refresh(owner)
        assert (owner.wallet_payable_at, owner.wallet_generation) == (None, None)


def test_a_token_that_had_no_end__ends_24_hours_after_it_was_made(database: Database) -> None:
    with database.write() as session:
        agent = identity.add_agent(session, "quant", None, "203.0.113.9", b"r" * 32, NOW)
        identity.add_session(session, "agent", agent.id, b"t" * 32, NOW, NOW + timedelta(hours=1))
        session.execute(text("alter table session alter column expires_at drop not null"))
        session.execute(text("update session set expires_at = null"))
        session.execute(text(MIGRATION.ENDED))
        assert (
            calls.find_session(session, b"t" * 32, NOW + timedelta(hours=24, seconds=-1))
            is not None
        )
        assert calls.find_session(session, b"t" * 32, NOW + timedelta(hours=24)) is None
