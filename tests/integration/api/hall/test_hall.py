"""The Hall over HTTP: before the first build, as a list, as a profile."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from api.areas.hall import jobs
from api.areas.hall.jobs import HallJob
from api.areas.hall.tables import HallAgent
from api.kernel.operation import Deps
from api.kernel.workers import CALLS, CALLS_OF_ONE, Pools, Workers
from api.main import create_app
from core.db.engine import Database
from core.house import House
from core.identity import policies
from core.identity.tables import Account
from core.times import instant_text
from tests.each import each
from tests.integration.api.conftest import BASE_URL, Clock, connect, reason
from tests.integration.api.in_process import AppClient
from tests.world.mandates import Place
from tests.world.seed import seed

PATH = "/mandate-wallet/hall"
PLACE = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
AGENTS, DAYS = 4, 32


@pytest.fixture
def now(clock: Clock) -> datetime:
    return clock.now


@pytest.fixture
def built(client: TestClient, database: Database, now: datetime) -> TestClient:
    seed(database, PLACE, now, agents=AGENTS, days=DAYS)
    build(database, now)
    return client


def build(database: Database, now: datetime) -> None:
    HallJob(database).run(now)


def read(client: TestClient, path: str = PATH) -> Any:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: TestClient, query: str = "") -> list[int]:
    return [int(row["agent_id"]) for row in read(client, f"{PATH}?{query}")["agents"]]


def test_before_the_first_build__it_is_pending(client: TestClient) -> None:
    empty = {"agents": [], "house_book": None, "next_cursor": None}
    state = {"pending": True, "stale": True, "computed_at": None}
    progress = {"ledgers": 0, "counted": 0, "agents_left": 0}
    assert read(client) == empty | state | {"progress": progress}

    profile = read(client, f"{PATH}/1001")
    assert (profile["agent"], profile["pending"], profile["stale"]) == (None, True, True)


def test_a_row__has_the_fields_of_the_document(built: TestClient) -> None:
    row = read(built)["agents"][0]

    assert set(row["windows"]) == {"7d", "30d", "90d", "since"}
    assert set(row["windows"]["7d"]) == {"net_usdc", "twr_bps", "max_drawdown_bps", "trades"}
    assert {"total", "working", "net_7d_usdc", "net_30d_usdc"} == set(row["delegators"])
    assert (row["ranked"], row["rank"], row["days_live"]) == (True, 1, DAYS + 1)
    assert row["unranked_reason"] is row["rank_requirements"] is row["operator_stake_usdc"] is None
    assert row["operator_stake_reason"]
    assert row["simulated"] is True
    assert row["self_reported"]["trades_total"] == 0


def test_a_build_that_is_not_over__says_how_far_it_is(
    client: TestClient, database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MANDATES_AT_A_TIME", 1)
    monkeypatch.setattr(jobs, "ROWS_AT_A_TIME", 10_000)
    seed(database, PLACE, now, agents=AGENTS, days=DAYS)
    waiting = read(client)["progress"]
    HallJob(database, run_s=0.0).run(now)
    begun = read(client)["progress"]
    assert waiting == {"ledgers": begun["ledgers"], "counted": 0, "agents_left": 0}
    assert begun["counted"] == 1 < begun["ledgers"]


def test_a_build_that_is_over__has_no_progress(built: TestClient) -> None:
    assert read(built)["progress"] is None


def test_a_hall__is_stale_after_ten_minutes(built: TestClient, clock: Clock) -> None:
    clock.now += timedelta(minutes=10)
    assert read(built)["stale"] is False
    clock.now += timedelta(seconds=1)
    assert read(built)["stale"] is True


def test_an_agent__is_there_after_the_next_build(
    built: TestClient, database: Database, now: datetime
) -> None:
    newcomer = connect(built)["user_id"]
    answer = built.get(f"{PATH}/{newcomer}")
    assert reason(answer) == (404, "not_found")
    build(database, now)

    row = read(built, f"{PATH}/{newcomer}")["agent"]
    assert (row["ranked"], row["unranked_reason"]) == (False, "days_live_and_trades")
    assert row["rank_requirements"] == {
        "days_live": 0,
        "days_needed": 30,
        "trades": 0,
        "trades_needed": 20,
    }
    assert row["windows"]["since"] == {
        "net_usdc": "0.000000",
        "twr_bps": None,
        "max_drawdown_bps": None,
        "trades": 0,
    }
    assert (row["address_ready"], row["accepts_mandates"], row["as_of"]) == (False, False, None)


@each("sort", ["days_live", "net_usdc", "twr_bps", "max_drawdown_bps", "trades"])
def test_pages_of_each_sort__are_the_list_in_its_order(built: TestClient, sort: str) -> None:
    for window in ("7d", "30d", "90d", "since"):
        query = f"sort={sort}&window={window}"
        rows = read(built, f"{PATH}?{query}")["agents"]
        assert len(rows) == AGENTS
        if sort != "days_live":
            figures = [float(row["windows"][window][sort]) for row in rows]
            assert figures == sorted(figures, reverse=sort != "max_drawdown_bps")
        assert paged(built, query) == [row["agent_id"] for row in rows]


def paged(client: TestClient, query: str) -> list[str]:
    """The ids of all pages of three."""
    found, cursor = list[str](), ""
    while cursor is not None:
        page = read(client, f"{PATH}?{query}&limit=3{cursor and '&cursor=' + cursor}")
        found += [row["agent_id"] for row in page["agents"]]
        cursor = page["next_cursor"]
    return found


def test_unknown_figures__come_last(built: TestClient, database: Database) -> None:
    first = ids(built, "sort=net_usdc")[0]
    with database.write() as session:
        session.execute(
            update(HallAgent).where(HallAgent.agent_id == first).values(sorts=[None] * 16)
        )

    assert ids(built, "sort=net_usdc")[-1] == first


def test_accepting__leaves_those_whose_policy_says_so(
    built: TestClient, database: Database, now: datetime
) -> None:
    assert ids(built, "accepting=1") == []
    chosen = ids(built)[2]
    with database.write() as session:
        policies.replace_policy(session, chosen, {"accepts_mandates": True}, now)
        policies.log_change(session, chosen, {"accepts_mandates": {"from": False, "to": True}}, now)

    assert ids(built, "accepting=1") == [chosen]
    profile = read(built, f"{PATH}/{chosen}")
    assert profile["agent"]["accepts_mandates"] is True
    assert profile["policy_changelog"][0]["changes"] == {
        "accepts_mandates": {"from": False, "to": True}
    }


def test_a_row_that_was_read__shows_what_changed_since(
    built: TestClient, database: Database, now: datetime
) -> None:
    """Its name and its policy at once, its record with a build of another process."""
    before = read(built)["agents"]
    chosen = int(before[1]["agent_id"])
    with database.write() as session:
        policies.replace_policy(session, chosen, {"accepts_mandates": True}, now)
        session.execute(update(Account).where(Account.id == chosen).values(name="renamed"))
    assert read(built)["agents"][1] == before[1] | {"name": "renamed", "accepts_mandates": True}
    build(database, now + timedelta(days=7))
    after = read(built)

    assert after["agents"][1]["days_live"] == before[1]["days_live"] + 7
    assert after["agents"][1]["windows"]["7d"] != before[1]["windows"]["7d"]
    assert after["computed_at"] > instant_text(now)


def test_a_proof__names_the_rows_up_to_which_it_counts(built: TestClient) -> None:
    agent_id = ids(built)[0]
    profile = read(built, f"{PATH}/{agent_id}?proof=1")

    assert len(profile["proof"]) == 4
    assert all(one["seq"] > 0 and len(one["row_hash"]) == 66 for one in profile["proof"])
    cents = sum(round(float(one["net_usdc"]) * 1e6) for one in profile["proof"])
    since = profile["agent"]["windows"]["since"]
    assert cents == round(float(since["net_usdc"]) * 1e6)
    assert sum(one["trades"] for one in profile["proof"]) == since["trades"]
    assert read(built, f"{PATH}/{agent_id}")["proof"] is None


def test_a_curve__ends_with_the_return_of_all_days(built: TestClient) -> None:
    agent_id = ids(built)[0]
    profile = read(built, f"{PATH}/{agent_id}?curve=1")
    days = [one["day"] for one in profile["curve"]]

    assert days == sorted(set(days))
    assert profile["curve"][-1]["twr_bps"] == profile["agent"]["windows"]["since"]["twr_bps"]
    assert read(built, f"{PATH}/{agent_id}")["curve"] is None


def test_a_profile__has_the_strip_and_the_strip_the_standing(built: TestClient) -> None:
    profile = read(built, f"{PATH}/{ids(built)[0]}")

    assert profile["record"]["hall"] == {
        "ranked": True,
        "rank": 1,
        "days_live": DAYS + 1,
        "trades": profile["agent"]["trades_total"],
        "days_needed": 30,
        "trades_needed": 20,
    }
    link = profile["record"]["sources"]["hall"]
    assert read(built, link)["agent"]["agent_id"] == profile["agent"]["agent_id"]


def test_the_house__is_tagged_and_has_a_row_of_its_own(built: TestClient, deps: Deps) -> None:
    assert read(built)["house_book"] is None
    one, other = ids(built)[:2]
    own = replace(deps, workers=Pools(Workers(CALLS, CALLS_OF_ONE))).with_part(
        House, House(house_agents=(one,), record_runner=other)
    )
    with AppClient(create_app(own), base_url=BASE_URL) as of_the_house:
        shown = read(of_the_house)

    assert [row["house"] for row in shown["agents"][:2]] == [True, False]
    book = shown["house_book"]
    assert (book["agent_id"], book["record"]["runner"]) == (str(other), True)


@each("query", ["sort=luck", "window=1d", "limit=0", "limit=101", "accepting=maybe", "cursor=abc"])
def test_a_query_that_cannot_be__is_refused_by_its_field(client: TestClient, query: str) -> None:
    answer = client.get(f"{PATH}?{query}")

    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(query.partition("=")[0] + ": ")


def test_an_owner__has_no_profile(built: TestClient) -> None:
    assert built.get(f"{PATH}/1").status_code == 404
