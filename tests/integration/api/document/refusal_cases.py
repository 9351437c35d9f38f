"""A call that is made by HTTP or as a tool, what is told of its refusal, and its next calls made as
they are written.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from sqlalchemy import make_url, text
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.db.embedded import EmbeddedPostgres
from tests.integration.api.conftest import KEY
from tests.integration.api.mandates.stage import Stage
from tests.integration.api.tools.conftest import call as call_tool

WAIT_S = 10.0
WALLET = "/mandate-wallet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One call.

    `path` has {ids}; `fields` are its body or query; `who` its headers; `names` fill expected paths
    beside `ids`.
    """

    method: str
    path: str
    who: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    idempotency_key: str | None = None
    tool: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    def filled(self, path: str) -> str:
        return path.format(**self.ids, **self.names)


@dataclass(frozen=True, slots=True)
class Told:
    """The answer's status and body, by either door."""

    status: int
    body: dict[str, Any]


Door = Callable[[TestClient, Attempt], Told]


def by_http(client: TestClient, attempt: Attempt) -> Told:
    headers = dict(attempt.who) | (
        {} if attempt.idempotency_key is None else {"Idempotency-Key": attempt.idempotency_key}
    )
    sent: dict[str, Any] = (
        {"params": attempt.fields} if attempt.method == "GET" else {"json": attempt.fields}
    )
    answer = client.request(attempt.method, attempt.filled(attempt.path), headers=headers, **sent)
    return Told(answer.status_code, answer.json())


def by_tool(client: TestClient, attempt: Attempt) -> Told:
    assert attempt.tool is not None
    key = {} if attempt.idempotency_key is None else {"idempotency_key": attempt.idempotency_key}
    result = call_tool(
        client, attempt.tool, dict(attempt.who), **attempt.ids, **attempt.fields, **key
    )
    assert result["isError"] is (result["_meta"]["service/status"] >= 400)
    return Told(result["_meta"]["service/status"], result["structuredContent"])


DOORS: Mapping[str, Door] = {"http": by_http, "tool": by_tool}


@dataclass(slots=True)
class Scene:
    """What a case is provoked with.

    `client` may be replaced by one of another application; `ends` runs at the test's end.
    """

    stage: Stage
    deps: Deps
    postgres: EmbeddedPostgres
    database_url: str
    client: TestClient
    ends: ExitStack
    # what it waits for, and the call
    first_call: tuple[psycopg.Connection[Any], Future[Told]] | None = None

    def follow(self, attempt: Attempt, item: Mapping[str, Any]) -> int:
        """Make a next call as it is written, with the credential that its `auth` names; answers its
        status.
        """
        body = {"json": item["body"]} if "body" in item else {}
        return int(
            self.client.request(
                item["method"],
                item["path"],
                headers=self._credential(attempt, item["auth"]),
                **body,
            ).status_code
        )

    def _credential(self, attempt: Attempt, auth: str) -> dict[str, str]:
        match auth:
            case "none" | "optional" | "none or owner" | "none, key, owner or bearer":
                return {}
            case "owner":
                return self.stage.owner
            case "key":
                return dict(attempt.who) if KEY in attempt.who else self.stage.agent
            case "key or owner":
                return dict(attempt.who)
        raise AssertionError(f"no case is told to send {auth}")


@contextmanager
def set_up(
    stage: Stage, deps: Deps, postgres: EmbeddedPostgres, database_url: str
) -> Iterator[Scene]:
    with ExitStack() as ends:
        yield Scene(stage, deps, postgres, database_url, stage.client, ends)


# The database from outside


@contextmanager
def administration(postgres: EmbeddedPostgres) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(plain(postgres.url), autocommit=True) as connection:
        yield connection


def plain(url: str) -> str:
    """The URL as libpq reads it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def admit(scene: Scene, *, is_admitting: bool) -> None:
    """Whether the database takes connections; those that stand are ended when it does not."""
    name = make_url(scene.database_url).database
    with administration(scene.postgres) as connection:
        connection.execute(
            f'alter database "{name}" with allow_connections {str(is_admitting).lower()}'.encode()
        )
        if not is_admitting:
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [name]
            )


def wait_for_a_blocked_call(scene: Scene) -> None:
    """Until a statement in the database waits for a lock."""
    end = time.monotonic() + WAIT_S
    with administration(scene.postgres) as connection:
        while time.monotonic() < end:
            name = make_url(scene.database_url).database
            blocked = connection.execute(
                "select count(*) from pg_stat_activity where datname = %s and "
                "wait_event_type = 'Lock'",
                [name],
            ).fetchone()
            if blocked is not None and blocked[0]:
                return
            time.sleep(0.01)
    raise TimeoutError("no call waits for a lock")


def use_up_calls(scene: Scene, listing: Attempt, number: int) -> None:
    """The count of today is `number`, for every key that called."""
    assert by_http(scene.client, listing).status == 200
    with scene.deps.database.write() as session:
        session.execute(text("update request_count set n = :n"), {"n": number})
