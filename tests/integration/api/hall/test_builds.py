"""The Hall from real ledgers: built at once, by pieces, again; and what a flatterer tries."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, text, update

from api.areas.hall import jobs as job
from api.areas.hall import queries
from api.areas.hall.jobs import HallJob
from api.areas.hall.tables import HallAgent
from api.areas.hall.views import sources
from core.db.base import Base
from core.db.engine import Database
from core.identity.tables import Account
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.ledger.reversal import reverse_blocks
from core.mandate.rules import events as ev
from core.mandate.rules.rows import NewRow
from core.mandate.rules.terms import rules_to_json
from core.mandate.tables import Mandate
from core.quarantine import queries as quarantine
from tests.integration.core.rows import add_account, add_mandate
from tests.unit.api.areas.hall.told import LISTED, OTHER, RULES, USDC, VAULT, Told
from tests.world.mandates import Place
from tests.world.seed import seed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
WALLET = b"\x77" * 20
TABLES = ("hall_past", "hall_day", "hall_mandate", "hall_agent", "hall_due", "hall_build")


def build(database: Database, now: datetime = NOW) -> Any:
    return HallJob(database).run(now)


def snapshot(database: Database) -> dict[int, Any]:
    with database.read() as session:
        return {
            row.agent_id: (row.is_listed, row.ranked, row.rank, row.days_live, row.record)
            for row in session.scalars(select(HallAgent))
        }


def clear(database: Database) -> None:
    with database.write() as session:
        for table in TABLES:
            session.execute(text(f"delete from {table}"))


def agent(database: Database, wallet: bytes | None = None, owner_id: int | None = None) -> int:
    with database.write() as session:
        agent_id = add_account(session, "agent")
        values = {"wallet_address": wallet, "owner_id": owner_id}
        values |= {"wallet_linked_at": None if wallet is None else NOW}
        session.execute(update(Account).where(Account.id == agent_id).values(**values))
    return agent_id


def owner(database: Database) -> int:
    with database.write() as session:
        return add_account(session, "owner")


def mandate(
    database: Database,
    agent_id: int,
    told: Told,
    *,
    owner_id: int | None = None,
    wallet: bytes = WALLET,
    name: str = "m_aaaaaaaaaa",
) -> int:
    """A mandate on the chain with these rows."""
    with database.write() as session:
        mandate_id = add_mandate(session, name)
        values: dict[str, Any] = {
            "agent_id": agent_id,
            "rules": rules_to_json(RULES),
            "budget_usdc_e6": told.told.budget_usdc_e6,
            "terms": {"agent": "0x" + wallet.hex()},
            "payout_rule": {"kind": "share_of_verified_gain", "bps": 0},
            "ends_at": NOW + timedelta(days=90),
        }
        values |= {} if owner_id is None else {"owner_id": owner_id}
        session.execute(update(Mandate).where(Mandate.id == mandate_id).values(**values))
    created = Told().on(0, 0)
    created.says(ev.VaultCreated(VAULT, "0x" + "01" * 32, LISTED, LISTED, name, None, ()))  # type: ignore[arg-type]
    append(database, mandate_id, [*created.rows, *told.rows])
    return mandate_id


def append(database: Database, mandate_id: int, rows: Sequence[NewRow]) -> None:
    with database.write() as session:
        mandate_ledger.append_ledgers(session, {mandate_id: rows}, NOW)


def since(database: Database, agent_id: int) -> Any:
    return snapshot(database)[agent_id][-1]["windows"]["since"]


# Builds


def test_a_world__is_the_same_built_at_once_and_piece_by_piece(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(database, PLACE, NOW, agents=3, days=40)
    monkeypatch.setattr(job, "ROWS_AT_A_TIME", 37)
    build(database)
    in_pieces = snapshot(database)
    clear(database)
    monkeypatch.undo()
    build(database)

    assert snapshot(database) == in_pieces
    assert {row[1] for row in in_pieces.values()} == {True}
    assert sorted(row[2] for row in in_pieces.values()) == [1, 2, 3]


@pytest.mark.slow
def test_rows_that_come_between_builds__count_as_if_they_had_been_there(
    database: Database,
) -> None:
    told = Told().on(0).deposit(1_000)
    for day in range(1, 30):
        told.on(day).buy(100).mark(1_000 + day).sell(100)
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, replace_rows(told, told.rows[:5]))
    build(database)
    for place in range(5, len(told.rows), 7):
        append(database, mandate_id, told.rows[place : place + 7])
        assert build(database)["ledgers"] == 1
    grown = snapshot(database)
    clear(database)
    build(database)

    assert snapshot(database) == grown
    build(database, NOW + timedelta(minutes=10))
    assert build(database, NOW + timedelta(minutes=20)) == {"ledgers": 0, "agents": 0, "left": 0}


@pytest.mark.slow
def test_the_past_of_a_day__is_read_until_the_day_is_over(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days before today are not read again when rows of today come."""
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, Told().on(0).deposit(1_000).on(5).buy(100).mark(990))
    read = list[int]()
    days_of = queries.days_of

    def counting(session: Any, first: Any) -> Any:
        found = days_of(session, first)
        read.append(len(found))
        return found

    monkeypatch.setattr(queries, "days_of", counting)
    build(database)
    append(database, mandate_id, Told().on(59).mark(1_010).rows)
    build(database)
    build(database, NOW + timedelta(days=1))

    assert [count for count in read if count] == [2, 1, 3]


@pytest.mark.slow
def test_a_past_that_changed__is_not_the_past(database: Database) -> None:
    """A row that comes late changes a day before today; so does the trade of an owner with itself,
    and a second mandate that counts from then on.
    """
    somebody = owner(database)
    first, second = agent(database, WALLET), agent(database, b"\x88" * 20)
    told = Told().on(0).deposit(1_000).on(1).buy(100).on(2).sell(190)
    mandate_id = mandate(database, first, told, owner_id=somebody)
    build(database)
    for rows in (
        Told().on(1).mark(1_000).rows,
        Told().on(59, 1).mark(1_020).rows,
        Told().on(3).mark(990).rows,
    ):
        append(database, mandate_id, rows)
        assert_as_from_the_first_row(database)
    lost = Told().on(0).deposit(1_000).on(2).buy(200).mark(890)
    mandate(database, second, lost, owner_id=somebody, wallet=b"\x88" * 20, name="m_bbbbbbbbbb")
    assert_as_from_the_first_row(database)
    new = Told().on(58).deposit(1_000).on(59, 2).buy(10).mark(1_100)
    third = mandate(database, first, replace_rows(new, new.rows[:1]), name="m_cccccccccc")
    assert_as_from_the_first_row(database)
    append(database, third, new.rows[1:])
    assert_as_from_the_first_row(database)


def test_accounts_that_one_wallet_joins__have_another_past(database: Database) -> None:
    first, second = agent(database, WALLET), agent(database, b"\x88" * 20)
    one = mandate(database, first, Told().on(0).deposit(1_000).on(3).buy(500).mark(900))
    other = Told(500).on(0).deposit(500).on(4).buy(200).mark(600)
    mandate(database, second, other, wallet=b"\x88" * 20, name="m_bbbbbbbbbb")
    build(database)
    with database.write() as session:
        none: dict[str, Any] = {"wallet_address": None, "wallet_linked_at": None}
        session.execute(update(Account).where(Account.kind == "agent").values(**none))
        linked = {"wallet_address": WALLET, "wallet_linked_at": NOW}
        session.execute(update(Account).where(Account.id == second).values(**linked))
    append(database, one, Told().on(59).mark(910).rows)
    assert_as_from_the_first_row(database)
    assert snapshot(database)[second][-1]["windows"]["since"]["net_usdc"] == "10.000000"


def assert_as_from_the_first_row(database: Database) -> None:
    """Build on, and beside it, from nothing: the Hall says the same."""
    build(database)
    kept = {name: rows_of(database, name) for name in TABLES}
    on = snapshot(database)
    clear(database)
    build(database)
    assert snapshot(database) == on
    clear(database)
    for name, rows in kept.items():
        put(database, name, rows)


def rows_of(database: Database, name: str) -> Any:
    with database.read() as session:
        return session.execute(select(Base.metadata.tables[name])).mappings().all()


def put(database: Database, name: str, rows: Any) -> None:
    if rows:
        with database.write() as session:
            session.execute(insert(Base.metadata.tables[name]), [dict(row) for row in rows])


def test_a_mandate_that_the_hall_forgot__is_counted_again(database: Database) -> None:
    """docs/operations/keeper.md tells operators to delete its row."""
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, Told().on(0).deposit(1_000).on(1).buy(100).mark(950))
    build(database)
    whole = snapshot(database)
    with database.write() as session:
        session.execute(text(f"delete from hall_mandate where mandate_id = {mandate_id}"))
    build(database, NOW + timedelta(minutes=2))

    assert snapshot(database) == whole


def replace_rows(told: Told, rows: list[NewRow]) -> Told:
    part = Told()
    part.rows = rows
    return part


def test_rows_of_a_block_that_is_undone__count_no_more(database: Database) -> None:
    agent_id = agent(database, WALLET)
    told = Told().on(0).deposit(1_000).on(1).buy(100)
    mandate_id = mandate(database, agent_id, told)
    build(database)
    before = snapshot(database)
    lost = "0x" + "66" * 32
    append(
        database,
        mandate_id,
        [
            replace(row, block_hash=lost, block_number=99)
            for row in Told().on(2).mark(950).on(3).buy(10).rows
        ],
    )
    build(database)
    assert since(database, agent_id)["net_usdc"] == "-50.000000"
    with database.write() as session:
        reverse_blocks(session, [lost], NOW)
    build(database)

    after = snapshot(database)
    assert after[agent_id][-1] == before[agent_id][-1]


def test_a_new_day__moves_the_windows_without_a_row(database: Database) -> None:
    agent_id = agent(database, WALLET)
    mandate(database, agent_id, Told().on(0).deposit(1_000).on(58).buy(100).mark(1_100))
    build(database)
    first = snapshot(database)[agent_id]
    build(database, NOW + timedelta(days=8))
    later = snapshot(database)[agent_id]

    assert first[-1]["windows"]["7d"]["net_usdc"] == "100.000000"
    assert later[-1]["windows"]["7d"]["net_usdc"] == "0.000000"
    assert later[3] == first[3] + 8


def test_a_ledger_that_cannot_be_counted__is_its_agent_s_trouble_alone(
    database: Database,
) -> None:
    sound, broken = agent(database, WALLET), agent(database)
    mandate(database, sound, Told().on(0).deposit(1_000))
    bad = mandate(
        database, broken, Told().on(0).deposit(1_000), wallet=b"\x88" * 20, name="m_bbbbbbbbbb"
    )
    with database.write() as session:
        session.execute(update(Mandate).where(Mandate.id == bad).values(payout_rule={"kind": "x"}))
    build(database)

    rows = snapshot(database)
    assert rows[sound][-1]["windows"]["since"]["net_usdc"] == "0.000000"
    assert rows[broken][-1]["unranked_reason"] == "record_incomplete"
    assert set(rows[broken][-1]["windows"].values()) == {None}
    with database.write() as session:
        values = {"payout_rule": {"kind": "share_of_verified_gain", "bps": 0}}
        session.execute(update(Mandate).where(Mandate.id == bad).values(**values))
    append(database, bad, Told().on(1).buy(1).rows)
    build(database)
    assert snapshot(database)[broken][-1]["windows"]["since"]["net_usdc"] == "0.000000"


def test_a_build_that_is_cut_short__goes_on_where_it_was(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(database, PLACE, NOW, agents=2, days=20)
    build(database)
    whole = snapshot(database)
    clear(database)
    for cut in ("add_days", "save_washed", "flip_held", "save_agents", "rank"):
        monkeypatch.setattr(queries, cut, fail)
        with pytest.raises(CutShortError):
            build(database)
        monkeypatch.undo()
        with database.read() as session:
            assert queries.build_of(session) is None
    build(database)

    assert snapshot(database) == whole


FACT = quarantine.NewHeld(
    base_key="log:0x01:0",
    block_number=7,
    block_hash=b"\x07" * 32,
    tx_hash=b"\x01" * 32,
    log_index=0,
    address=None,
    topic=None,
    reason="database",
    note="no",
    fact=b"{}",
    tries=1,
)


class CutShortError(Exception):
    pass


def fail(*_: Any, **__: Any) -> Any:
    raise CutShortError


# Flatterers


def test_a_new_account_with_the_old_wallet__has_the_old_record(database: Database) -> None:
    old = agent(database, WALLET)
    mandate(database, old, Told().on(0).deposit(1_000).on(1).buy(500).mark(700))
    build(database)
    with database.write() as session:
        gone = update(Account).where(Account.id == old)
        session.execute(gone.values(wallet_address=None, wallet_linked_at=None))
    new = agent(database, WALLET)
    build(database, NOW + timedelta(minutes=1))

    rows = snapshot(database)
    assert rows[new][-1] == rows[old][-1]
    assert rows[new][-1]["windows"]["since"]["net_usdc"] == "-300.000000"
    assert (rows[new][0], rows[old][0]) == (True, False)


def test_an_account_that_lost_the_wallet__has_its_record_no_more(database: Database) -> None:
    """Another account had linked the wallet, and was evicted from it."""
    old = agent(database)
    mandate(database, old, Told().on(0).deposit(1_000).on(1).buy(500).mark(1_300))
    thief = agent(database, WALLET)
    build(database)
    assert snapshot(database)[thief][-1]["mandates_total"] == 1
    with database.write() as session:
        gone = update(Account).where(Account.id == thief)
        session.execute(gone.values(wallet_address=None, wallet_linked_at=None))
    build(database, NOW + timedelta(days=1))

    rows = snapshot(database)
    assert (rows[thief][0], rows[thief][-1]) == (True, None)
    assert (rows[old][0], rows[old][-1]["mandates_total"]) == (True, 1)


def test_an_owner_s_two_mandates_that_trade_with_each_other__make_no_gain(
    database: Database,
) -> None:
    """Two agents of one owner: the one gains what the other one loses."""
    somebody = owner(database)
    winner, loser = agent(database, WALLET), agent(database, b"\x88" * 20)
    won = Told().on(0).deposit(1_000).on(1).buy(100).on(2).sell(190)
    lost = Told().on(0).deposit(1_000).on(2).buy(200).mark(890)
    mandate(database, winner, won, owner_id=somebody)
    build(database)
    assert since(database, winner)["net_usdc"] == "90.000000"
    mandate(database, loser, lost, owner_id=somebody, wallet=b"\x88" * 20, name="m_bbbbbbbbbb")
    build(database)

    assert since(database, winner)["net_usdc"] == "0.000000"
    assert since(database, winner)["trades"] == 1
    assert since(database, loser)["net_usdc"] == "-110.000000"


def test_a_partner_s_trades_that_a_reorganisation_takes_back__discount_nothing(
    database: Database,
) -> None:
    somebody = owner(database)
    winner, loser = agent(database, WALLET), agent(database, b"\x88" * 20)
    won = Told().on(0).deposit(1_000).on(1).buy(100).on(2).sell(190)
    mandate(database, winner, won, owner_id=somebody)
    lost = Told().on(0).deposit(1_000).on(2).buy(200).mark(890)
    undone = [replace(row, block_hash="0x" + "44" * 32) for row in lost.rows[1:]]
    lost.rows[1:] = undone
    mandate(database, loser, lost, owner_id=somebody, wallet=b"\x88" * 20, name="m_bbbbbbbbbb")
    build(database)
    assert since(database, winner)["net_usdc"] == "0.000000"
    with database.write() as session:
        reverse_blocks(session, ["0x" + "44" * 32], NOW)
    build(database)

    assert since(database, winner)["net_usdc"] == "90.000000"
    assert since(database, winner)["trades"] == 2


def test_paper__makes_no_record(database: Database) -> None:
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, Told().on(0).deposit(1_000).on(1).buy(100).sell(900))
    with database.write() as session:
        session.execute(update(Mandate).where(Mandate.id == mandate_id).values(market_mode="paper"))
    build(database)

    record = snapshot(database)[agent_id][-1]
    assert (record["mandates_total"], record["windows"]["since"]["net_usdc"]) == (0, "0.000000")


def test_a_record_with_facts_held_back__is_incomplete_until_they_come(
    database: Database,
) -> None:
    agent_id = agent(database, WALLET)
    mandate_id = mandate(database, agent_id, Told().on(0).deposit(1_000))
    build(database)
    with database.write() as session:
        quarantine.hold(session, 84532, quarantine.MANDATE, mandate_id, [FACT], NOW)
    build(database)
    held = snapshot(database)[agent_id]
    with database.write() as session:
        [fact] = quarantine.held_facts(session, quarantine.MANDATE, mandate_id, 9)
        quarantine.release(session, [fact.id], NOW)
    build(database)

    assert held[-1]["unranked_reason"] == "record_incomplete"
    assert held[-1]["delegators"]["net_7d_usdc"] is None
    assert snapshot(database)[agent_id][-1]["unranked_reason"] == "trades"


def test_agents_without_a_mandate__have_a_row_after_the_next_build(database: Database) -> None:
    build(database)
    agent_id = agent(database)
    assert agent_id not in snapshot(database)
    build(database)

    assert snapshot(database)[agent_id] == (True, False, None, 0, None)
    with database.write() as session:
        session.execute(insert(Account).values(kind="owner", name="o", created_at=NOW))
    assert build(database)["agents"] == 0


def test_amounts_beyond_a_bigint__are_amounts(database: Database) -> None:
    agent_id = agent(database, WALLET)
    huge = 10**18
    mandate(
        database, agent_id, Told().on(0).deposit(1_000 + huge).on(1).buy(huge).on(2).sell(2 * huge)
    )
    build(database)

    assert since(database, agent_id)["net_usdc"] == f"{huge}.000000"
    assert since(database, agent_id)["trades"] == 2
    assert USDC * huge > 2**63


def test_the_mandates_behind_a_record__add_up_to_it_while_money_is_out(database: Database) -> None:
    agent_id = agent(database, WALLET)
    mandate(database, agent_id, Told(9_000).on(0).deposit(9_000).on(1).buy(5_000, OTHER))
    build(database)
    with database.read() as session:
        (one,) = sources.counted_mandates(session, [agent_id], 10)
    assert (one.net_usdc_e6, since(database, agent_id)["net_usdc"]) == (-5 * 10**9, "-5000.000000")
