"""Cases, notices, the public board, the defense level, and who is an operator, through the
application.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from sqlalchemy import text

from api.kernel.operation import Access, Deps
from core.db.engine import Database
from tests.each import each
from tests.integration.api.conftest import (
    BASE_URL,
    KEY,
    Clock,
    TestClient,
    at_once,
    bearer,
    connect,
    login,
    reason,
)

OPERATOR_WALLET: LocalAccount = Account.from_key("0x" + "44" * 32)
DEADLINE = "2026-11-28T12:00:00Z"

Open = Callable[..., dict[str, Any]]


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return deps.with_part(
        Access,
        replace(
            deps.parts.of(Access), operator_addresses=frozenset({OPERATOR_WALLET.address.lower()})
        ),
    )


@pytest.fixture
def open_case(client: TestClient, operator: dict[str, str]) -> Open:
    def open_(agent: dict[str, Any], **changes: Any) -> dict[str, Any]:
        body = {
            "agent_id": agent["user_id"],
            "rule": "copied evidence",
            "deadline": DEADLINE,
        } | changes
        answer = client.post("/admin/violations", json=body, headers=operator)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    return open_


def get(
    client: TestClient, path: str, headers: dict[str, str] | None = None, **query: Any
) -> dict[str, Any]:
    answer = client.get(path, headers=headers or {}, params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


# A lock and its end


def test_a_case__is_one_notice_one_board_row_and_a_locked_account(
    client: TestClient, open_case: Open
) -> None:
    agent = connect(client)
    key = {KEY: agent["api_key"]}
    case = open_case(agent)
    told = {
        "case": case["case"],
        "user_id": agent["user_id"],
        "rule": "copied evidence",
        "deadline": DEADLINE,
    }
    row = told | {"status": "open", "opened_at": "2026-11-21T12:00:00Z", "closed_at": None}
    assert case == row | {"sbt_review_state": "under review"}
    assert get(client, "/public/violations/notices") == {"notices": [row], "next_cursor": None}
    assert get(client, "/me/violations", key) == {"violations": [case], "next_cursor": None}
    (notice,) = get(client, "/me/notices", key)["notices"]
    assert {name: notice[name] for name in told} == told
    assert (notice["kind"], notice["case_status"]) == ("account_lock", "open")
    assert notice["notice_board"] == f"{BASE_URL}/public/violations/notices"
    assert client.get(notice["notice_board"]).status_code == 200
    assert (
        get(client, "/agent/status", key)["status"],
        get(client, "/agent/dashboard", key)["status"],
    ) == ("locked", "locked")


def test_a_closed_case__clears_lock_and_review_state__and_stays_on_record(
    client: TestClient, operator: dict[str, str], open_case: Open, clock: Clock
) -> None:
    agent = connect(client)
    key, case = {KEY: agent["api_key"]}, open_case(agent)
    clock.pass_(hours=1)
    closed = client.post(f"/admin/violations/{case['case']}/close", headers=operator)
    assert (closed.status_code, closed.json()) == (200, case | ENDED)
    clock.pass_(hours=1)
    again = client.post(f"/admin/violations/{case['case']}/close", headers=operator)
    assert again.json() == closed.json()
    assert get(client, "/me/violations", key)["violations"] == [closed.json()]
    assert [one["case_status"] for one in get(client, "/me/notices", key)["notices"]] == ["closed"]
    assert [one["status"] for one in get(client, "/public/violations/notices")["notices"]] == [
        "closed"
    ]
    assert get(client, "/agent/status", key)["status"] == "active"


ENDED = {"status": "closed", "closed_at": "2026-11-21T13:00:00Z", "sbt_review_state": None}


def test_an_account_with_two_cases__is_locked_until_the_last_is_closed(
    client: TestClient, operator: dict[str, str], open_case: Open
) -> None:
    agent = connect(client)
    key, cases = {KEY: agent["api_key"]}, [open_case(agent), open_case(agent, rule="self review")]
    assert len(get(client, "/me/notices", key)["notices"]) == 2
    client.post(f"/admin/violations/{cases[0]['case']}/close", headers=operator)
    assert get(client, "/agent/status", key)["status"] == "locked"
    client.post(f"/admin/violations/{cases[1]['case']}/close", headers=operator)
    assert get(client, "/agent/status", key)["status"] == "active"


def test_a_rule__has_one_open_case_an_agent(
    client: TestClient, operator: dict[str, str], open_case: Open, database: Database
) -> None:
    agent = connect(client)
    body = {"agent_id": agent["user_id"], "rule": "copied evidence", "deadline": DEADLINE}
    opened = at_once(
        8, lambda _: client.post("/admin/violations", json=body, headers=operator).status_code
    )
    assert opened == {201: 1, 409: 7}
    with database.read() as session:
        assert session.scalar(text("select count(*) from notice")) == 1
    answer = client.post("/admin/violations", json=body, headers=operator)
    assert reason(answer) == (409, "case_open")
    case = get(client, "/public/violations/notices")["notices"][0]["case"]
    assert case in answer.json()["detail"]
    client.post(f"/admin/violations/{case}/close", headers=operator)
    assert open_case(agent)["case"] != case


@each(
    ("changes", "status", "code", "field"),
    [
        ({"agent_id": 999_999}, 404, "not_found", "agent_id: "),
        ({"rule": ""}, 400, "invalid_parameter", "rule: "),
        (
            {"deadline": "2026-11-28T12:00:00"},
            400,
            "invalid_parameter",
            "deadline: write a time with its zone",
        ),
        (
            {"deadline": "2026-11-21T12:00:00Z"},
            400,
            "invalid_parameter",
            "deadline: write a time in the future",
        ),
    ],
)
def test_a_case_of_another_form__names_the_field_and_tells_nobody(
    client: TestClient,
    operator: dict[str, str],
    changes: dict[str, Any],
    status: int,
    code: str,
    field: str,
) -> None:
    body = {
        "agent_id": connect(client)["user_id"],
        "rule": "copied evidence",
        "deadline": DEADLINE,
    } | changes
    answer = client.post("/admin/violations", json=body, headers=operator)
    assert reason(answer) == (status, code)
    assert answer.json()["detail"].startswith(field)
    assert get(client, "/public/violations/notices")["notices"] == []


def test_an_owner__is_no_agent_to_lock(
    client: TestClient, operator: dict[str, str], wallet: LocalAccount, database: Database
) -> None:
    login(client, wallet)
    with database.read() as session:
        owner_id = session.scalar(text("select id from account where kind = 'owner'"))
    body = {"agent_id": owner_id, "rule": "copied evidence", "deadline": DEADLINE}
    assert reason(client.post("/admin/violations", json=body, headers=operator)) == (
        404,
        "not_found",
    )


def test_closing_what_is_not_there__is_not_found(
    client: TestClient, operator: dict[str, str]
) -> None:
    assert reason(client.post("/admin/violations/v_aaaaaaaaaa/close", headers=operator)) == (
        404,
        "not_found",
    )
    assert reason(client.post("/admin/violations/7/close", headers=operator)) == (
        400,
        "invalid_parameter",
    )


# Who reads what


def test_an_account__reads_its_own_by_key_by_token_and_by_its_owner(
    client: TestClient, open_case: Open, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    agent, sibling, stranger = connect(client, owner), connect(client, owner), connect(client)
    cases = [open_case(agent)["case"], open_case(sibling)["case"]]
    open_case(stranger)

    def seen(headers: dict[str, str]) -> list[list[str]]:
        notices = get(client, "/me/notices", headers)["notices"]
        violations = get(client, "/me/violations", headers)["violations"]
        return [[one["case"] for one in notices], [one["case"] for one in violations]]

    assert seen({KEY: agent["api_key"]}) == [cases[:1]] * 2
    assert seen(bearer(agent["bearer_token"])) == [cases[:1]] * 2
    assert seen(owner) == [cases[::-1]] * 2
    assert seen(login(client, Account.create())) == [[], []]
    assert len(get(client, "/public/violations/notices")["notices"]) == 3
    for path in ("/me/notices", "/me/violations"):
        assert reason(client.get(path)) == (401, "auth_required")


@pytest.mark.parametrize(
    ("path", "name"), [("/me/notices", "notices"), ("/me/violations", "violations")]
)
def test_lists__are_paged_newest_first(
    client: TestClient, open_case: Open, path: str, name: str
) -> None:
    agent = connect(client)
    cases = [open_case(agent, rule=f"rule {n}")["case"] for n in range(3)]
    first = get(client, path, {KEY: agent["api_key"]}, limit=2)
    second = get(client, path, {KEY: agent["api_key"]}, limit=2, cursor=first["next_cursor"])
    assert [one["case"] for one in first[name] + second[name]] == cases[::-1]
    assert second["next_cursor"] is None
    board = get(client, "/public/violations/notices", limit=2)
    assert (
        len(get(client, "/public/violations/notices", cursor=board["next_cursor"])["notices"]) == 1
    )


def test_the_fleet__shows_which_agent_is_locked(
    client: TestClient, open_case: Open, wallet: LocalAccount
) -> None:
    owner = login(client, wallet)
    agent = connect(client, owner)
    connect(client, owner)
    open_case(agent)
    assert [one["status"] for one in get(client, "/agents/mine", owner)["agents"]] == [
        "locked",
        "active",
    ]


# The defense level


def test_the_level__is_0_until_an_operator_sets_it__and_says_what_each_does(
    client: TestClient, operator: dict[str, str], clock: Clock
) -> None:
    before = get(client, "/public/defense")
    assert (before["level"], before["since"]) == (0, None)
    assert [
        (one["level"], one["unowned_welcome_credits_per_day"], one["bond_without_standing"])
        for one in before["levels"]
    ] == [
        (0, 3, False),
        (1, 1, False),
        (2, 0, True),
        (3, 0, True),
    ]
    assert before["levels"][2]["says"].startswith(
        "Of an address's unowned registrations in a UTC day, none is credited; owned agents always are."
    )
    clock.pass_(minutes=1)
    after = client.put("/admin/defense", json={"level": 2}, headers=operator)
    assert (after.status_code, after.json()) == (
        200,
        before | {"level": 2, "since": "2026-11-21T12:01:00Z"},
    )
    assert get(client, "/public/defense") == after.json()


def test_changes_of_the_level__are_logged_with_who_and_when(
    client: TestClient, operator: dict[str, str], clock: Clock, database: Database
) -> None:
    session_of_wallet = login(client, OPERATOR_WALLET)
    for level, who in ((2, operator), (2, operator), (0, session_of_wallet)):
        assert client.put("/admin/defense", json={"level": level}, headers=who).status_code == 200
        clock.pass_(minutes=1)
    with database.read() as session:
        log = session.execute(
            text(
                "select level, previous_level, kind, at::text from defense_change d join "
                "account a on a.id = d.changed_by order by d.id"
            )
        ).all()
    assert [tuple(line) for line in log] == [
        (2, 0, "operator", "2026-11-21 12:00:00+00"),
        (0, 2, "owner", "2026-11-21 12:02:00+00"),
    ]


@each("level", [-1, 4, "2", 1.5, None, True])
def test_a_level_of_another_form__is_refused(
    client: TestClient, operator: dict[str, str], level: Any
) -> None:
    answer = client.put("/admin/defense", json={"level": level}, headers=operator)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("level: ")
    assert get(client, "/public/defense")["level"] == 0


# Operators


def test_an_operator__acts_on_operators_routes_only(
    client: TestClient, operator: dict[str, str]
) -> None:
    session = login(client, OPERATOR_WALLET)
    for headers in (operator, session):
        assert client.put("/admin/defense", json={"level": 1}, headers=headers).status_code == 200
        assert client.get("/agent/catalog", headers=headers).status_code == 200
    assert reason(client.get("/agents/mine", headers=session)) == (403, "not_authorized")
    assert reason(client.get("/mandate-wallet/mandates", headers=session)) == (
        403,
        "not_authorized",
    )
    assert reason(client.get("/agents/mine", headers=operator)) == (401, "auth_required")
    assert reason(client.get("/me/notices", headers=operator)) == (401, "auth_required")
    assert client.post("/auth/owner/logout", headers=session).status_code == 200
    assert reason(client.put("/admin/defense", json={"level": 1}, headers=session)) == (
        401,
        "auth_invalid",
    )
