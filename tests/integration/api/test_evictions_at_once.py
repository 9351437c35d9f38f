"""Links, recoveries and evictions of one account in the same moment, on connections of their own:
whoever loses gets nothing.
"""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy import text

from core.db.engine import Database
from core.identity import queries as identity
from tests.integration.api.conftest import KEY, bearer, nonce_for, reason, sign
from tests.integration.api.test_evictions import SECRETS, THIEF, Robbed, robbed  # noqa: F401 (a fixture)

WAITERS = (
    "select count(*) from pg_stat_activity where datname = current_database() and "
    "wait_event_type = 'Lock'"
)
Ask = Callable[[], Any]


def in_turn(robbed: Robbed, *calls: Ask) -> list[Any]:
    """The answers to calls that all wait for the agent's row, and get it in this order."""
    futures: list[Future[Any]] = []
    with ThreadPoolExecutor(len(calls)) as pool, ExitStack() as gate:
        session = gate.enter_context(robbed.database.write())
        identity.lock_account(session, robbed.id)
        for n, call in enumerate(calls):
            futures.append(pool.submit(call))
            await_waiters(robbed.database, n + 1)
        gate.close()
        return [future.result() for future in futures]


def await_waiters(database: Database, wanted: int) -> None:
    until = time.monotonic() + 10
    while True:
        with database.read() as session:
            if session.scalar(text(WAITERS)) == wanted:
                return
        assert time.monotonic() < until, "a call did not come to wait for the account"
        time.sleep(0.01)


def link(robbed: Robbed) -> Ask:
    """The thief's, with its signature at hand."""
    signature = sign(THIEF, nonce_for(robbed.client, THIEF, "link"))
    body = {"wallet_address": THIEF.address, "signature": signature}
    return lambda: robbed.post("/auth/wallet/link", bearer(robbed.taken["bearer_token"]), **body)


def rotate(robbed: Robbed, headers: dict[str, str] | None = None) -> Ask:
    return lambda: robbed.post(f"/agents/{robbed.id}/keys/rotate", headers)


def recover(robbed: Robbed) -> Ask:
    return lambda: robbed.recover(robbed.taken["recovery_code"])


def test_a_link_that_comes_after_the_rotation__is_refused(robbed: Robbed) -> None:
    rotated, linked = in_turn(robbed, rotate(robbed), link(robbed))
    assert (rotated.status_code, reason(linked), robbed.linked()) == (
        200,
        (401, "auth_invalid"),
        None,
    )
    assert robbed.alerts() == []


def test_a_link_that_comes_before_the_rotation__is_unlinked_by_it(robbed: Robbed) -> None:
    linked, rotated = in_turn(robbed, link(robbed), rotate(robbed))
    assert (linked.status_code, rotated.json()["unlinked_wallet"], robbed.linked()) == (
        200,
        THIEF.address,
        None,
    )
    assert robbed.alerts() == [("agent_wallet_linked", False)]


def test_a_recovery_that_comes_after_the_rotation__is_refused(robbed: Robbed) -> None:
    rotated, recovered = in_turn(robbed, rotate(robbed), recover(robbed))
    assert (rotated.status_code, reason(recovered)) == (200, (401, "auth_invalid"))
    assert (
        robbed.client.get("/agent/status", headers={KEY: rotated.json()["api_key"]}).status_code
        == 200
    )


def test_a_recovery_that_comes_before_the_rotation__is_void(robbed: Robbed) -> None:
    recovered, rotated = in_turn(robbed, recover(robbed), rotate(robbed))
    assert (recovered.status_code, rotated.status_code) == (200, 200)
    assert (
        robbed.client.get("/agent/status", headers={KEY: recovered.json()["api_key"]}).status_code
        == 401
    )
    assert (
        robbed.client.get("/agent/status", headers={KEY: rotated.json()["api_key"]}).status_code
        == 200
    )
    assert robbed.alerts() == [("agent_recovered", False)]


def test_two_sessions_of_the_owner_rotate__the_second_one_was_ended_by_the_first(
    robbed: Robbed,
) -> None:
    first, second = in_turn(robbed, rotate(robbed), rotate(robbed, robbed.taken_session))
    assert (first.status_code, reason(second)) == (200, (401, "auth_invalid"))
    assert (
        robbed.client.get("/agent/status", headers={KEY: first.json()["api_key"]}).status_code
        == 200
    )


OWNERS_WRITES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "scopes": ("PUT", "/agents/{id}/scopes", {"scopes": None}),
    "persona": ("POST", "/agents/{id}/persona", {"persona": "calm"}),
    "policy": ("PUT", "/mandate-wallet/agents/{id}/policy", {"accepts_mandates": True}),
    "confirmation": ("POST", "/agents/{id}/wallet/confirm", {"wallet_address": THIEF.address}),
    "connect": ("POST", "/auth/agent/connect", {"agent_name": "another"}),
}


@pytest.mark.parametrize("write", OWNERS_WRITES)
def test_a_write_of_a_session_that_the_rotation_ends__is_refused(
    robbed: Robbed, write: str
) -> None:
    """It was let in before the rotation was committed, and gave the key of the thief full access
    after it.
    """
    method, path, body = OWNERS_WRITES[write]
    path = path.format(id=robbed.id)
    rotated, written = in_turn(
        robbed,
        rotate(robbed),
        lambda: robbed.client.request(method, path, json=body, headers=robbed.taken_session),
    )
    assert (rotated.status_code, reason(written)) == (200, (401, "auth_invalid"))


@pytest.mark.parametrize("round_", range(2))
def test_twenty_at_once__end_with_one_set_of_secrets_and_no_wallet(
    robbed: Robbed, round_: int
) -> None:
    calls = [
        *(link(robbed) for _ in range(10)),
        *(rotate(robbed) for _ in range(5)),
        *(recover(robbed) for _ in range(5)),
    ]
    order = [calls[n * 7 % 20] for n in range(20)] if round_ else calls
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda call: call(), order))
    statuses = Counter(answer.status_code for answer in answers)
    # 400: the nonce of a link was used by the one before it
    assert set(statuses) <= {200, 400, 401}, statuses
    assert robbed.linked() is None
    won = [answer.json() for answer in answers if set(answer.json()) >= SECRETS]
    alive = [
        one
        for one in won
        if robbed.client.get("/agent/status", headers={KEY: one["api_key"]}).status_code == 200
    ]
    assert len(alive) == 1
    with robbed.database.read() as session:
        counted = "select generation from account where id = :id"
        assert session.scalar(text(counted), {"id": robbed.id}) == len(won)
        live = "select count(*) from session where account_id = :id and revoked_at is null"
        assert session.scalar(text(live), {"id": robbed.id}) == 1
