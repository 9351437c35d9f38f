"""Which executions of the chain a soak finds in the record."""

from types import SimpleNamespace
from typing import cast

import pytest

from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.ledger import RowKind
from scripts.demo import Story
from tests.bench import lost
from tests.integration.core.rows import BLOCK_A, NOW, add_mandate, log

PUBLIC_ID = "m_aaaaaaaaaa"
EXECUTION = log(0, RowKind.BUY, {"executed": {}})
STORY = cast("Story", SimpleNamespace(logs=lambda event: [event], id=PUBLIC_ID))


def test_an_execution_whose_row_was_reversed__is_lost_until_it_is_written_again(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lost, "SETTLED_S", 0.0)
    found = []
    with database.write() as session:
        mandate_id = add_mandate(session, PUBLIC_ID)
    for step in (
        lambda session: mandate_ledger.append(session, mandate_id, EXECUTION, NOW),
        lambda session: mandate_ledger.reverse_blocks(session, [BLOCK_A], NOW),
        lambda session: mandate_ledger.append(session, mandate_id, EXECUTION, NOW),
    ):
        with database.write() as session:
            step(session)
        found.append(lost.lost_events(database_url.replace("+psycopg", ""), STORY))
    assert found == [0, 1, 0]
