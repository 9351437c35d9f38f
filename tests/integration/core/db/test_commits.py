"""Whether a commit waits for the disk."""

from contextlib import closing

import pytest
from sqlalchemy import text

from core.db.engine import Database


@pytest.mark.parametrize("waits", [True, False])
def test_a_commit__waits_as_the_server_says_unless_the_process_asks_that_none_does(
    database_url: str, waits: bool
) -> None:
    asked = text("select setting, source from pg_settings where name = 'synchronous_commit'")
    with (
        closing(Database(database_url, synchronous_commit=waits)) as found,
        found.read() as session,
    ):
        setting, said_by = session.execute(asked).one()
    assert (said_by == "client") is not waits
    assert waits or setting == "off"
