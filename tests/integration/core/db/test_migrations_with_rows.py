"""Migrations down and up again over rows: nothing that an older version knows is lost, and what only
the newer one knows is refused to be lost.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from alembic import command
from sqlalchemy import func, insert, select, text

from api.areas.hall.jobs import HallJob
from core.anchors import queries as anchors
from core.anchors.rules import START
from core.db import migrate
from core.db.engine import Database
from core.earn.ledger import awards
from core.earn.ledger.awards import Source
from core.fund.rules.indices import rows_in
from core.identity.tables import Account, SignInNonce
from core.listings import queries as listings
from core.listings.rules import Symbol
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import RowAuthor
from core.mandate.tables import Mandate, MandateEvent
from core.mining import queries as mining
from core.mining.tables import MiningFact
from core.published.queries import published
from tests.integration.core.rows import add_mandate, note, signed
from tests.world.mandates import Place
from tests.world.seed import seed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
BEFORE_SIGNED_ROWS, BEFORE_TOKENS = "0017", "0064"


def downgrade(url: str, to: str) -> None:
    migrate._with_connection(url, lambda one: command.downgrade(migrate._config(one), to))


def fill(database: Database) -> None:
    seed(database, PLACE, NOW, agents=2, days=12)
    heads = [anchors.HeadRow("m_a", 3, b"\x01" * 32)]
    tree = anchors.tree_with(database.read, heads, START)
    with database.write() as session:
        anchors.add_epoch(session, 7, tree, START, 10, NOW)
        texts = [
            {
                "wallet_address": b"\x11" * 20,
                "purpose": "login",
                "nonce": f"nonce {number}",
                "message": "sign in",
                "created_at": NOW + timedelta(seconds=number),
                "expires_at": NOW + timedelta(hours=1),
            }
            for number in range(3)
        ]
        session.execute(insert(SignInNonce), texts)
    HallJob(database).run(NOW)


def rows(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(MandateEvent)) or 0


@pytest.mark.slow
def test_ledgers__are_what_they_were_after_a_way_down_and_up(
    database: Database, database_url: str
) -> None:
    fill(database)
    had = rows(database)
    downgrade(database_url, BEFORE_SIGNED_ROWS)
    migrate.upgrade(database_url)

    assert migrate.differences(database_url) == []
    assert rows(database) == had
    with database.read() as session:
        ids = session.scalars(select(Mandate.id)).all()
        assert [fault for id_ in ids for fault in mandate_ledger.verify(session, id_)] == []
        # of texts side by side an older version knows the newest
        assert session.scalars(select(SignInNonce.nonce)).all() == ["nonce 2"]
    assert HallJob(database).run(NOW)["ledgers"] == len(ids)


@pytest.mark.slow
def test_signed_rows__are_not_thrown_away(database: Database, database_url: str) -> None:
    """Their hashes hold the signatures: without them each of these ledgers would be false."""
    author = RowAuthor(signer="0x" + "11" * 20, sequence=1, prev="0x" + "00" * 32, signature="0x01")
    with database.write() as session:
        mandate_id = add_mandate(session)
        mandate_ledger.append(session, mandate_id, signed(), NOW)
        mandate_ledger.append(session, mandate_id, replace(note(1), author=author), NOW)
    with pytest.raises(RuntimeError, match="1 rows are signed"):
        downgrade(database_url, BEFORE_SIGNED_ROWS)

    with database.read() as session:
        assert mandate_ledger.verify(session, mandate_id) == []
        assert (
            session.scalar(text("select count(*) from mandate_event where author is not null")) == 1
        )


@pytest.mark.slow
def test_days_that_were_published_once__are_first_versions(
    database: Database, database_url: str
) -> None:
    downgrade(database_url, "0064")
    with database.write() as session:
        for version in ("B3", "B3.1"):
            session.execute(
                text(
                    "insert into wci_daily values (:day, :version, 'Text.', '{\"headline\": {}}', :at)"
                ),
                {"day": NOW.date(), "version": version, "at": NOW},
            )
        session.execute(
            text(
                "insert into fund_index (key, name, delivery_chain, registered_at) "
                "values ('majors', 'Majors', 'eip155:1', :at)"
            ),
            {"at": NOW},
        )
        session.execute(
            text("insert into fund_index_day values (1, :day, 'eip155:1', true, :at)"),
            {"day": NOW.date(), "at": NOW},
        )
        session.execute(
            text(
                "insert into fund_index_member values (1, :day, 'UNI', '{defi}', null, "
                "'binance_uni_usdt', 10000, 1000000000000000001, 2, null), "
                "(1, :day, 'BTC', '{}', 'not_listed', null, null, null, 0, null)"
            ),
            {"day": NOW.date()},
        )
    migrate.upgrade(database_url)
    with database.read() as session:
        statistics, index = (
            published(session, subject) for subject in ("warning_statistics", "fund_index:1")
        )
    assert statistics is not None
    assert index is not None
    assert statistics.figures["B3.1"] == {"definition": "Text.", "headline": {}}
    assert (statistics.version, statistics.cause, statistics.as_of) == (1, "first", NOW)
    assert [one.ticker for one in rows_in(index.figures)] == ["BTC", "UNI"]
    assert rows_in(index.figures)[1].depth_usdc_e6 == 10**18 + 1
    assert (index.rules, index.computed_at) == ("indices_v1", NOW)


def counts(database: Database) -> dict[str, int]:
    with database.read() as session:
        totals = listings.totals(session)
        figures = mining.figures(session)
        return {
            "listings": totals.listings,
            "tokens": totals.tokens,
            "with_facts": figures[mining.TOKENS_WITH_FACTS],
        }


def test_tokens__are_counted_from_what_was_listed_and_approved_before(
    database: Database, database_url: str
) -> None:
    """AAA at three exchanges with two values, BBB at two with one, CCC at one."""
    listed = {"binance": "AAA BBB", "upbit": "AAA", "mexc": "CCC BBB AAA"}
    with database.write() as session:
        for exchange, bases in listed.items():
            symbols = [Symbol(base, "USDT") for base in bases.split()]
            listings.add_listings(session, exchange, symbols, is_simulated=True, now=NOW)
        session.execute(text("set local session_replication_role = replica"))  # no entries needed
        for entry_id, name in enumerate(("binance_aaa_usdt", "mexc_aaa_usdt", "mexc_bbb_usdt"), 1):
            listing_id = listings.ids_of(session, [name])[name]
            fact = {"listing_id": listing_id, "field_name": "website_url", "entry_id": entry_id}
            session.execute(
                insert(MiningFact).values(**fact, value="x", approved_at=NOW, is_clearing=False)
            )
    downgrade(database_url, BEFORE_TOKENS)
    migrate.upgrade(database_url)

    assert counts(database) == {"listings": 6, "tokens": 3, "with_facts": 2}
    with database.write() as session:
        symbols = [Symbol("DDD", "KRW"), Symbol("CCC", "KRW")]
        listings.add_listings(session, "upbit", symbols, is_simulated=True, now=NOW)
        [ccc] = listings.ids_of(session, ["upbit_ccc_krw"]).values()
        assert [listings.count_fact(session, ccc, by) for by in (1, 1, -1, -1)] == [1, 2, 1, 0]
    assert counts(database) == {"listings": 8, "tokens": 4, "with_facts": 2}


BEFORE_GROUPS = "0064"
OF_BEFORE_GROUPS = """
insert into account (id, kind, name, created_at) overriding system value values (7, 'agent', 'a', :now);
insert into task (id, category, title, tenths, created_by, subject, state, open_claims, proofs, participants, created_at)
overriding system value values (1, 'translation', 't', 25, 7, 's', 'held', 1, 0, 1, :now);
insert into listing (id, exchange, base, quote, token_id, is_simulated, created_at)
overriding system value values (1, 'binance', 'LINK', 'USDT', 'binance_link_usdt', false, :now);
insert into mining_submission (id, listing_id, agent_id, person, pool, room_id, submitted_at)
overriding system value values (1, 1, 7, 'agent:7', 'address:203.0.113.9', 1, :now);
insert into mining_entry (submission_id, listing_id, agent_id, field_name, value, evidence_url, status, submitted_at)
values (1, 1, 7, 'blockchain', 'base', 'https://a.example/', 'pending', :now);
insert into kg_claim (token, kind, claim, words, source_url, agent_id, person, state, made_at)
values ('LINK', 'other', 'c', 'w', 'https://a.example/', 7, 'agent:7', 'unverified', :now)
"""
CLAIM_OF_BEFORE_GROUPS = """
insert into task_claim (task_id, agent_id, person, address, funder, is_exclusive, stage, tenths, bond_credits,
    is_bond_held, claimed_at, expires_at, changed_at)
values (1, 7, 'agent:7', 'address:203.0.113.9', 'funder:0xab', true, :stage, 0, 0, false, :now, :now, :now)
"""
KEYS = ["agent:7", "address:203.0.113.9", "wallet:0xab"]


def groups(database: Database) -> dict[str, list[list[str]]]:
    with database.read() as session:
        return {
            table: list(session.scalars(text(f"select groups from {table} order by id")))
            for table in ("task_claim", "mining_entry", "kg_claim")
        }


@pytest.mark.slow
def test_rows_of_before_groups__have_their_keys__and_stay_what_the_release_before_reads(
    database: Database, database_url: str
) -> None:
    downgrade(database_url, BEFORE_GROUPS)
    with database.write() as session:
        for one in OF_BEFORE_GROUPS.split(";"):
            session.execute(text(one), {"now": NOW})
        session.execute(text(CLAIM_OF_BEFORE_GROUPS), {"now": NOW, "stage": "claimed"})
    migrate.upgrade(database_url)
    had = {"task_claim": [KEYS], "mining_entry": [KEYS[:2]], "kg_claim": [KEYS[:1]]}
    assert groups(database) == had
    with database.write() as session:  # as a process of that release does while an upgrade rolls
        session.execute(text(CLAIM_OF_BEFORE_GROUPS), {"now": NOW, "stage": "expired"})
    downgrade(database_url, BEFORE_GROUPS)
    migrate.upgrade(database_url)
    assert groups(database) == had | {"task_claim": [KEYS, KEYS]}
    assert migrate.differences(database_url) == []


@pytest.mark.slow
def test_debts_of_groups__are_not_forgotten(database: Database, database_url: str) -> None:
    with database.write() as session:
        agent = Account(kind="agent", name="agent", created_at=NOW)
        session.add(agent)
        session.flush()
        source = Source.MINING
        awards.charge(session, agent.id, source, "mining:entry:1", 30, NOW, is_of_group=True)
    with pytest.raises(RuntimeError, match="1 payouts were cancelled or debts are of groups"):
        downgrade(database_url, BEFORE_GROUPS)
