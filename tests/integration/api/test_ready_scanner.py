"""/health/ready on the scanner: what it says while it imports the simulated past."""

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from core.db.engine import Database
from tests.integration.api.conftest import Clock, ask_anew

IMPORTING = "It is importing the simulated past."


@pytest.mark.parametrize(
    ("state", "silent_s", "status", "note"),
    [
        ("importing", 2, "degraded", IMPORTING),
        ("scanning", 2, "ok", None),
        ("importing", 600, "degraded", "No heartbeat for 600 s"),
    ],
)
def test_scanner__says_what_it_does(
    client: TestClient,
    database: Database,
    clock: Clock,
    state: str,
    silent_s: int,
    status: str,
    note: str | None,
) -> None:
    said = text(
        "insert into leader values ('scanner', 1, 'x', 1, :now, :now, "
        "jsonb_build_object('state', cast(:state as text)))"
    )
    with database.write() as session:
        session.execute(said, {"now": clock.now, "state": state})
    clock.pass_(seconds=silent_s)

    part = ask_anew(client).json()["parts"]["scanner"]

    assert part["status"] == status
    assert part["note"] is None if note is None else part["note"].startswith(note)
