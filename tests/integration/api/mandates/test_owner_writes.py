"""What an owner adds has a ceiling a UTC day (docs/rules.md#calls-per-day); a way out never has."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.dialects.postgresql import dialect

from api.catalogue import catalogue
from api.kernel.limits import Limits
from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from core.mandate import queries
from tests.integration.api.conftest import BASE_URL, at_once
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import DRAFT, Stage, reason

WAYS_OUT = (
    "agents.rotate_key", "agents.undo_recovery", "agents.unlink", "gallery.withdraw",
    "identity.logout", "mandates.cancel", "mandates.stop", "mandates.unwind_call", "perps.unbind",
)  # fmt: skip


@pytest.fixture
def held(stage: Stage, deps: Deps) -> Stage:
    """Three writes a day; those that made the stage do not count."""
    with stage.database.write() as session:
        session.execute(text("update account set writes = 0"))
    app = create_app(replace(deps, limits=Limits(owner_writes_per_day=3)))
    return replace(stage, client=AppClient(app, base_url=BASE_URL))


def draft(stage: Stage) -> int:
    return int(stage.call("POST", "/mandates", stage.owner, DRAFT).status_code)


def test_the_writes_of_a_day__have_a_ceiling_over_all_kinds_until_midnight(held: Stage) -> None:
    assert draft(held) == 201
    held.accept_mandates(held.agent_id)
    assert draft(held) == 201
    answer = held.call("POST", "/mandates", held.owner, DRAFT)
    assert reason(answer) == (429, "rate_limited")
    assert answer.json()["service"]["retry_at"] == "2026-11-22T00:00:00Z"
    assert answer.json()["service"]["remaining"] == {"writes_today": 0}
    held.clock.pass_(hours=12)
    assert draft(held) == 201


def test_a_write_that_is_refused__counts_nothing(held: Stage) -> None:
    for _ in range(5):
        assert held.call("POST", "/mandates", held.owner, {**DRAFT, "chain_id": 1}).is_error
    assert [draft(held) for _ in range(4)] == [201, 201, 201, 429]


def test_another_owner__has_a_day_of_its_own(held: Stage) -> None:
    assert [draft(held) for _ in range(4)] == [201, 201, 201, 429]
    assert draft(replace(held, owner=held.new_owner())) == 201


def test_after_the_ceiling__a_mandate_can_be_stopped(held: Stage) -> None:
    paper = held.paper()
    while draft(held) == 201:
        pass
    assert held.call("POST", f"/mandates/{paper}/stop", held.owner).status_code == 200


def test_writes_at_once__are_counted_one_by_one(held: Stage, database: Database) -> None:
    assert at_once(8, lambda _: draft(held)) == {201: 3, 429: 5}
    with database.read() as session:
        assert session.scalar(text("select max(writes) from account")) == 3


def test_no_way_out__is_counted() -> None:
    by_key = catalogue().by_key
    assert [key for key in WAYS_OUT if by_key[key].bounds.adds_rows] == []


def test_the_open_board__is_read_by_an_index(stage: Stage) -> None:
    query = queries._list("board", by_status=False, is_later_page=True)
    query = query.params(now=stage.clock.now, limit=50, before_id=9)
    literal = query.compile(dialect=dialect(), compile_kwargs={"literal_binds": True})
    with stage.database.read() as session:
        session.execute(text("set local enable_seqscan = off"))
        plan = session.scalars(text(f"explain {literal}".replace(":", "\\:"))).all()
    assert "ix_mandate_on_board" in " ".join(plan)
